"""A deliberate break of the engine for each clause: a line of it, and what it is broken into.

The clause's own tests must catch each of them (`test_mutants`). A break changes what the engine does and never makes it
crash: a crash would be caught by anything.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import NamedTuple

__all__ = ["MUTANTS", "Mutant", "broken"]

ENGINE = Path(__file__).parents[2] / "engine"


class Mutant(NamedTuple):
    """What is broken, in which module of the engine: the text that stands there once, and what stands there instead."""

    clause: str
    breaks: str
    module: str
    was: str
    becomes: str


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """The engine with the break in it, wherever its functions and tables have been imported to, until the end."""
    source = (ENGINE / f"{mutant.module}.py").read_text()
    if source.count(mutant.was) != 1:
        raise ValueError(f"{mutant.module}.py holds {mutant.was!r} {source.count(mutant.was)} times")
    module = importlib.import_module(f"engine.{mutant.module}")
    made: dict[str, object] = {"__name__": module.__name__}
    exec(compile(source.replace(mutant.was, mutant.becomes), f"{mutant.module}.py, broken", "exec"), made)  # noqa: S102
    restore = [swap for name, value in made.items() if (swap := _swapped(vars(module).get(name), value))]
    if not restore:
        raise ValueError(f"{mutant.becomes!r} breaks nothing that {mutant.module}.py offers")
    try:
        for old, new in restore:
            _put(old, new)
        _forget(module)
        yield
    finally:
        for old, new in restore:
            _put(new, old)
        _forget(module)


def _forget(module: ModuleType) -> None:
    """Empty the module's caches."""
    for value in vars(module).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def _swapped(old: object, new: object) -> tuple[object, object] | None:
    """What stands for what: the code of a function, or a table that differs."""
    old, new = getattr(old, "__wrapped__", old), getattr(new, "__wrapped__", new)
    if isinstance(old, FunctionType) and isinstance(new, FunctionType) and old.__module__ == new.__module__:
        return (old, new) if old.__code__ != new.__code__ else None
    tables = (dict, MappingProxyType, frozenset, tuple)
    return (old, new) if isinstance(old, tables) and isinstance(new, tables) and old != new else None


def _put(old: object, new: object) -> None:
    """Let the one stand where the other stood: in a function's place, or by every name that a table has."""
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        old.__code__, new.__code__ = new.__code__, old.__code__
        return
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("engine", "tests"):
            for key in [key for key, value in vars(module).items() if value is old]:
                setattr(module, key, new)


MUTANTS = (
    # Basic Rummy
    Mutant("B1", "six play with one pack", "rules", "most_on_one = 5", "most_on_one = 6"),
    Mutant(
        "B2", "the dealer deals again", "step", "dealer=(state.dealer + 1) % len(state.hands)", "dealer=state.dealer"
    ),
    Mutant("B3", "no card is turned up", "deal", "up = seats * size, int(rules.up_card)", "up = seats * size, 0"),
    Mutant(
        "B4",
        "the last card is laid where a discard must end it",
        "lays",
        "if not placed.hand and",
        "if placed.hand and",
    ),
    Mutant(
        "B5",
        "an ace goes above the king at any table",
        "melds",
        "return 14 if rules.ace is Ace.EITHER else 13",
        "return 14",
    ),
    Mutant("B6", "the ban on the card taken is never lifted", "legal", " or not hand.translate(None, state.taken)", ""),
    Mutant(
        "B6",
        "it is lifted for the deepest card taken alone",
        "legal",
        "not hand.translate(None, state.taken)",
        "not hand.translate(None, state.taken[:1])",
    ),
    Mutant(
        "B6",
        "a meld is his whose card lies first in it",
        "melds",
        "meld.founder == seat)",
        "meld.owners[0] == seat)",
    ),
    Mutant("B6", "its equal may be discarded", "legal", "    return state.taken\n", "    return state.taken[:-1]\n"),
    Mutant(
        "B7",
        "a swap is of no help to a joker that is owed",
        "debts",
        "for card in sorted(set(hand)):",
        "for card in sorted(set(hand[:0])):",
    ),
    Mutant("B7", "any card of its suit frees a joker", "melds", " and card_at(suit, meld.low + index) == card", ""),
    Mutant(
        "B7", "suits of a set need not differ", "melds", " and not (rules.distinct_suits and card in meld.cards)", ""
    ),
    Mutant(
        "B8",
        "the newest discard is turned up",
        "step",
        "state.pile[:1], state.pile[1:]",
        "state.pile[-1:], state.pile[:-1]",
    ),
    Mutant("B8", "a lone card is turned over", "draws", "and len(state.pile) > 1", "and len(state.pile) > 0"),
    Mutant("B8", "one turn-over too many is allowed", "step", "state.turn_overs >= rules", "state.turn_overs > rules"),
    Mutant("B8", "idle rounds go on for ever", "turns", "idle >= state.rules.idle_limit", "idle < 0"),
    Mutant("B9", "the deal goes on after a seat is out", "turns", "if out and not state", "if out and state"),
    Mutant("B10", "a jack counts eleven", "scoring", "if rank > 10:", "if rank > 11:"),
    Mutant(
        "B10", "losers pay the winner's share", "scoring", "-left[seat] * factor[winner]", "-share * factor[winner]"
    ),
    Mutant(
        "B10",
        "the factor counts for every winner",
        "scoring",
        "out_at_once if seat in state.at_once",
        "out_at_once if seat in winners",
    ),
    Mutant("B11", "three never play with ten", "rules", "return rules.hand_size\n", "return min(rules.hand_size, 7)\n"),
    # Rummy 500
    Mutant("F1", "five play with one pack", "rules", "is ByPlayers.BASIC else 4", "is ByPlayers.BASIC else 5"),
    Mutant("F2", "a set may be of any size", "melds", "most = rules.set_max or 255", "most = 255"),
    Mutant("F2", "equal cards lie in one set", "melds", "len(set(naturals)) < len(naturals)", "len(naturals) > 4"),
    Mutant(
        "F3",
        "a run has an ace at both ends",
        "melds",
        "if not (low == 1 and high == 14) and not wanted",
        "if not wanted",
    ),
    Mutant("F3", "a run is laid with a joker for the ace at both ends", "melds", "<= size <= 13 else", "<= size else"),
    Mutant("F4", "a low ace counts 15", "scoring", "points -= 14", "points -= 0"),
    Mutant(
        "F5",
        "laying the last card ends nothing",
        "turns",
        "out = not state.hands[seat]",
        "out = not state.hands[seat] and not state.laid_now",
    ),
    Mutant("F6", "hands are not deducted", "scoring", "factor[seat] - left[seat]", "factor[seat]"),
    Mutant("F7", "a tie ends the match", "scoring", " and len(winners) == 1", ""),
    Mutant("F7", "the winner collects from the last alone", "scoring", "tuple(sum(gap) if", "tuple(max(gap) if"),
    Mutant("F8", "the pile lies in a heap", "view", "state.pile if spread else state.pile[-1:]", "state.pile[-1:]"),
    Mutant("F8", "two play with ten", "rules", "return 13 if seats == 2", "return 10 if seats == 2"),
    Mutant("F9", "the top card alone is taken", "draws", "rule is DiscardDraw.TOP and count > 1", "count > 1"),
    Mutant("F10", "a card without a use is taken", "draws", "if not _chosen_usable(", "if _chosen_usable("),
    Mutant("F10", "the first lay may leave it out", "lays", "state.owed and state.taken[0] not in cards", "False"),
    Mutant(
        "F10",
        "the top card of several is the chosen one",
        "lays",
        "state.taken[0] not in cards",
        "state.taken[-1] not in cards",
    ),
    Mutant("F10", "the turn ends without its use", "legal", "    if state.owed:\n", "    if False:\n"),
    Mutant("F10", "the top is free at every table", "draws", "(count == 1 and rules.top_free)", "count == 1"),
    Mutant(
        "F11",
        "one lays down before drawing",
        "legal",
        "Phase.DRAW: (Draw, Take, Pass)",
        "Phase.DRAW: (Draw, Take, Pass, LayDown)",
    ),
    Mutant(
        "F12",
        "a lay-off counts for who began the meld",
        "lays",
        "extended(meld, way, seat)",
        "extended(meld, way, meld.founder)",
    ),
    Mutant(
        "F12",
        "so does a swapped natural",
        "lays",
        "swapped(meld, place, lay.card, seat)",
        "swapped(meld, place, lay.card, meld.founder)",
    ),
    Mutant(
        "F13",
        "the engine guesses",
        "lays",
        'if len(ways) > 1:\n        why = f"{cards} could',
        'if False:\n        why = f"{cards} could',
    ),
    Mutant(
        "F13",
        "free jokers go to the end that is not named",
        "melds",
        "if way.low and (not way.high or way.high[-1] != JOKER)]",
        "if way.low]",
    ),
    Mutant(
        "F14",
        "nothing is counted when one passes",
        "scoring",
        "(by_hands or end in (DealEnd.STUCK, DealEnd.VOIDED))",
        "True",
    ),
    Mutant(
        "F14",
        "one passes while there is stock",
        "draws",
        "StockEmpty.PILE_ONLY and not state.stock",
        "StockEmpty.PILE_ONLY",
    ),
    # Pool Rummy 500
    Mutant("P1", "a pool pack has one joker", "presets", "jokers=2,", "jokers=1,"),
    Mutant("P2", "500 sharp is not enough", "scoring", "0 < rules.target <= best", "0 < rules.target < best"),
    Mutant("P3", "the dealer begins", "deal", "return (state.dealer + 1) % len(state.hands)", "return state.dealer"),
    Mutant("P3", "the deal passes two seats", "step", "dealer=(state.dealer + 1)", "dealer=(state.dealer + 2)"),
    Mutant("P3", "seat 0 deals first", "step", "dealer=seats - 1", "dealer=0"),
    Mutant("P4", "nothing is put in", "deal", "stake = (rules.stake or 0) if", "stake = 0 if"),
    Mutant(
        "P5",
        "an eleventh round is played",
        "turns",
        "state.round >= state.rules.round_limit",
        "state.round > state.rules.round_limit",
    ),
    Mutant("P6", "twelve cards each", "presets", "hand_size=13,", "hand_size=12,"),
    Mutant(
        "P7",
        "opening draws go by seat, not by place",
        "deal",
        "(state.turn - first_player(state)) % len(state.hands)",
        "state.turn",
    ),
    Mutant("P8", "three of a rank are no set", "melds", "len(cards) < rules.set_min", "len(cards) <= rules.set_min"),
    Mutant("P9", "a triple counts nothing", "scoring", "points -= 2 * triples", "points -= 3 * triples"),
    Mutant("P9", "four of a rank count once, too", "scoring", ") // 3\n", ") // 2\n"),
    Mutant("P10", "jokers are swapped at every table", "lays", "if rules.joker_swap is JokerSwap.NEVER:", "if False:"),
    Mutant(
        "P11",
        "the dealer may pass in round 1",
        "legal",
        "seat not in (first_player(state), state.dealer)",
        "seat != first_player(state)",
    ),
    Mutant("P11", "nobody ever may", "legal", "return state.round > 1 or seat", "return seat"),
    Mutant("P12", "the top of the pile is taken", "draws", "if rule is DiscardDraw.NONE or", "if False or"),
    Mutant(
        "P13",
        "a lay-off may bring no card",
        "lays",
        'raise Refused(Reason.NOT_A_LAY_OFF, "no card is named", clause="B6")',
        'return Extension(b"", b"")',
    ),
    Mutant("P14", "anybody may begin", "lays", "return seat == first or first in state.voided", "return True"),
    Mutant(
        "P14",
        "a void first player keeps all waiting",
        "lays",
        "seat == first or first in state.voided",
        "seat == first",
    ),
    Mutant("P14", "nobody ever knocks", "lays", "        knocked=True,\n", ""),
    Mutant("P15", "fouls are refused at every table", "step", "if state.rules.foul is Foul.VOID_HAND:", "if False:"),
    Mutant("P15", "a foul does not end its request", "step", "            break\n", "            continue\n"),
    Mutant("P15", "a dry run may be a foul", "step", "            if dry_run:\n", "            if False:\n"),
    Mutant("P15", "a void hand scores", "scoring", "0 if seat in state.voided else", ""),
    Mutant("P15", "a void hand plays on", "turns", "hands[seat] and seat not in voided", "hands[seat]"),
    Mutant(
        "P15",
        "ambiguous cards are a foul",
        "lays",
        'raise Refused(Reason.AMBIGUOUS_PLACE, why, clause="F13"',
        'raise Misfit(Reason.AMBIGUOUS_PLACE, why, clause="F13"',
    ),
    Mutant(
        "P15",
        "cards not held are a foul",
        "lays",
        "raise Refused(Reason.CARD_NOT_IN_HAND",
        "raise Misfit(Reason.CARD_NOT_IN_HAND",
    ),
    Mutant("P16", "the deal goes on after a round with a seat out", "turns", "    if somebody_out:", "    if False:"),
    Mutant("P17", "no discard is higher than any", "scoring", "-1 if card == NO_CARD", "99 if card == NO_CARD"),
    Mutant("P17", "several share in round 1", "scoring", "(rules.one_winner or state.round == 1)", "rules.one_winner"),
    Mutant("P17", "a tie is shared", "scoring", "return lowest if len(lowest) == 1 else ()", "return lowest"),
    Mutant(
        "P17", "what does not divide is lost", "scoring", "rest if rules.carry_over else 0", "0 if winners else rest"
    ),
    Mutant(
        "P17", "a discard of an earlier turn counts", "step", "if not hand:\n        last", "if True:\n        last"
    ),
    Mutant("P18", "a draw is served in part", "step", "len(state.stock) < wanted:", "not state.stock:"),
    Mutant("P18", "the pool is lost", "scoring", "if winners else (0, pool)", "if winners else (0, 0)"),
    Mutant("P25", "the short game goes to 400", "presets", "target=300", "target=400"),
    Mutant("P26", "cutthroat winners share", "presets", "one_winner=True", "one_winner=False"),
    Mutant("P26", "cutthroat has a stake", "presets", "stake=0", "stake=30"),
    Mutant(
        "P26", "a discard of an earlier turn counts", "step", "if not hand:\n        last", "if True:\n        last"
    ),
    # Every game
    Mutant("G1", "a discard lies twice", "step", "state.pile + bytes([card])", "state.pile + bytes([card, card])"),
    Mutant(
        "G2",
        "cards not held are told after their shape",
        "lays",
        "    _held(state, seat, lay.cards)\n    way = _place(state, meld, lay)\n",
        "    way = _place(state, meld, lay)\n    _held(state, seat, lay.cards)\n",
    ),
    Mutant(
        "G3",
        "others see what one draws",
        "view",
        "case Drew() if event.seat != seat:",
        "case Drew() if event.seat == seat:",
    ),
    Mutant("G3", "a view shows all hands", "view", "hand if over or index == seat else None", "hand"),
    Mutant(
        "G3", "a dry run shows the next card", "view", "told.append(replace(event, cards=None))", "told.append(event)"
    ),
    Mutant("G3", "a dry run shows the hands at the end", "view", 'pool=0, hands=(), seed=b""', 'pool=0, seed=b""'),
    Mutant("G4", "anything follows a draw", "step", "in enumerate(actions[:-1]):", "in enumerate(actions[:0]):"),
    Mutant(
        "G5",
        "a shuffle depends on how many there were before",
        "deal",
        "entropy=entropy)",
        'entropy=entropy + (vars(dealt).update(n=vars(dealt).get("n", 0) + 1) or bytes(dealt.n)))',
    ),
    Mutant("G6", "half of the seed is not proved", "shuffle", "hashlib.sha256(seed)", "hashlib.sha256(seed[:16])"),
    Mutant("G6", "low cards are likelier", "shuffle", "fair = 2**32 // limit * limit", "fair = 2**32"),
    Mutant("G6", "a seed deals twice", "step", "seed=state.next_seed,", "seed=state.seed,"),
    Mutant("G6", "what players add is forgotten after a deal", "step", "entropy=state.entropy,", "entropy=b'',"),
    Mutant("G6", "the next hash is this deal's", "step", "commitment(state.next_seed)", "commitment(state.seed)"),
    Mutant("G6", "so it is in a view", "view", "commitment(state.next_seed)", "commitment(state.seed)"),
    Mutant("G6", "the next deal's seed is published", "turns", "state.seed\n", "state.next_seed\n"),
    Mutant("G7", "jokers are left out of the list", "listing", "        yield _JOKERS + rest", "        break"),
    Mutant(
        "G7",
        "what is listed is not asked whether it is legal",
        "legal",
        "(lay for lay in lays if is_legal(state, seat, lay))",
        "lays",
    ),
    Mutant(
        "G8",
        "a hand may grow in rounds that are not played",
        "faults",
        "rules.round_limit - 1 + piled",
        "rules.round_limit + piled",
    ),
    Mutant("G8", "any hand comes out even", "faults", "return any(laid in sums for laid", "return any(laid for laid"),
    Mutant("G8", "cards go to and fro for ever", "turns", "idle >= state.rules.idle_limit", "False"),
    Mutant(
        "G8", "a table without an end is let pass", "faults", "if not rules.target and not rules.deals:", "if False:"
    ),
)
