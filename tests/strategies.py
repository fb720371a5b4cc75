"""Builders and generators that the engine's tests share: rule sets, positions, and whole matches played at random."""

import random
from collections.abc import Callable, Iterator, Sequence

import msgspec
from hypothesis import strategies as st

from engine.actions import Action, Discard, Draw, End, LayDown, LayOff, MeldKind, Pass, SwapJoker, Take
from engine.cards import NO_CARD
from engine.faults import faults
from engine.lays import Lay
from engine.legal import legal_actions
from engine.melds import readings
from engine.notation import read_cards
from engine.presets import PRESETS
from engine.rules import RuleSet
from engine.shuffle import SEED_SIZE
from engine.state import Meld, Phase, State
from engine.step import next_deal, start, step

OPTIONS: dict[str, Sequence[object]] = {
    "packs": (None, 1, 2),
    "jokers": (0, 2, 4, 8),
    "hand_size": (None, 1, 2, 3, 7, 10),
    "up_card": (True, False),
    "opening_draw": (0, 3),
    "discard_draw": ("none", "top", "any"),
    "use_taken": (True, False),
    "top_free": (True, False),
    "discard_differs": (True, False),
    "discard": ("required", "optional"),
    "set_max": (0, 3, 4),
    "distinct_suits": (True, False),
    "run_min": (3, 4),
    "ace": ("low", "either"),
    "lay_off": ("none", "own", "any"),
    "joker_swap": ("never", "to_hand", "same_turn"),
    "opening_order": ("any", "first_player"),
    "go_out": ("free", "discard"),
    "finish_round": (True, False),
    "stock_empty": ("turn_over", "shuffle", "pile_only", "end_deal"),
    "turn_over_limit": (0, 1, 3),
    "idle_limit": (0, 2, 10),
    "round_limit": (0, 4, 10),
    "scoring": ("hands", "melds", "pool"),
    "ace_points": ("one", "eleven_if_high", "fifteen"),
    "stake": (0, 30),
    "carry_over": (True, False),
    "one_winner": (True, False),
    "sets_count_once": (True, False),
    "out_at_once": (1, 2),
    "foul": ("refuse", "void_hand"),
    "target": (0, 40),
    "deals": (0, 1, 3),
    "settlement": ("none", "pay_winner", "difference"),
}
"""Every option that a table may choose, with values that matter."""


def rules_of(preset: str = "basic", **overrides: object) -> RuleSet:
    """A preset with some fields overridden by their JSON values."""
    types = {field.name: field.type for field in msgspec.structs.fields(RuleSet)}
    values = {name: msgspec.convert(value, types[name]) for name, value in overrides.items()}
    return msgspec.structs.replace(PRESETS[preset], **values)


@st.composite
def tables(draw: st.DrawFn, only: Sequence[str] = tuple(PRESETS)) -> tuple[RuleSet, int]:
    """A rule set that can be played, near or far from a preset, and a number of players that it admits."""
    preset = draw(st.sampled_from(only))
    rules = rules_of(preset)
    seats = draw(st.integers(*rules.seats))
    for field in draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=12, unique=True)):
        changed = rules_of(
            preset,
            **{
                **{name: getattr(rules, name) for name in OPTIONS},
                field: draw(st.sampled_from(OPTIONS[field])),
            },
        )
        if not faults(changed, seats):
            rules = changed
    return rules, seats


seeds = st.integers(0, 2**32 - 1)


def position(rules: RuleSet, hands: Sequence[str | bytes], **fields: object) -> State:
    """A loose position: hands, stock and pile as notation or bytes, a meld as (notation, owner); seat 0 is to play."""
    melds = fields.pop("melds", ())
    assert isinstance(melds, Sequence)
    whole: dict[str, object] = {
        "rules": rules,
        "phase": Phase.PLAY,
        "deal": 1,
        "dealer": len(hands) - 1,
        "round": 2,
        "turn": 0,
        "scores": (0,) * len(hands),
        "pool": rules.stake or 0,
        "seed": bytes(SEED_SIZE),
        "next_seed": bytes(SEED_SIZE),
        "hands": tuple(bytes(sorted(_cards(hand))) for hand in hands),
        "last_discards": bytes([NO_CARD] * len(hands)),
        "knocked": True,
        "melds": tuple(meld(rules, cards, owner) for cards, owner in melds),
        **fields,
    }
    for pile in ("stock", "pile"):
        whole[pile] = _cards(whole.get(pile, "KC 2C 2D 2S"))
    return State(**whole)  # type: ignore[arg-type]


def _cards(cards: object) -> bytes:
    return cards if isinstance(cards, bytes) else read_cards(str(cards))


def meld(rules: RuleSet, cards: str, owner: int) -> Meld:
    """A meld on the table, all of it laid by one seat; where the cards could be both, a run."""
    kind, laid, low = readings(rules, read_cards(cards))[-1]
    return Meld(kind, laid, bytes([owner] * len(laid)), owner, low)


def begin(rules: RuleSet, seats: int, chance: random.Random) -> State:
    """A match just begun."""
    return start(rules, seats, chance.randbytes(SEED_SIZE), chance.randbytes(SEED_SIZE)).state


Chooser = Callable[[State, random.Random], Action]


def any_legal(state: State, chance: random.Random) -> Action:
    """Any legal action, all alike."""
    return chance.choice(list(legal_actions(state, state.turn)))


def eager(state: State, chance: random.Random) -> Action:
    """A lay, where there is one, else any legal action: so that deals come to an end by going out."""
    actions = list(legal_actions(state, state.turn))
    lays: list[Action] = [action for action in actions if isinstance(action, Lay)]
    return chance.choice(lays or actions)


def moments(
    rules: RuleSet, seats: int, seed: int, *, choose: Chooser = eager, most: int = 200
) -> Iterator[tuple[State, Action]]:
    """A match played at random: each state with a seat to move, and what it then does; `most` actions at most."""
    chance = random.Random(seed)  # noqa: S311  a match to test, and to replay
    state = begin(rules, seats, chance)
    for _ in range(most):
        if state.phase is Phase.DEAL_OVER:
            state = next_deal(state, chance.randbytes(SEED_SIZE)).state
        if state.phase not in (Phase.DRAW, Phase.PLAY):
            return
        action = choose(state, chance)
        yield state, action
        state = step(state, state.turn, action).state


def some_action(state: State, seat: int, chance: random.Random) -> Action:
    """An action that may well be refused: cards of the hand, or not, in any order, on any meld."""
    hand = list(state.hands[seat])
    chance.shuffle(hand)
    cards = bytes(hand[: chance.randint(0, 5)]) if chance.random() < 0.8 else bytes(chance.choices(range(53), k=3))
    card = chance.choice(hand) if hand and chance.random() < 0.7 else chance.randrange(53)
    melds = chance.randint(-1, len(state.melds))
    asked: list[Action] = [
        Draw(),
        Pass(),
        Take(chance.randint(0, len(state.pile) + 1)),
        LayDown(cards, chance.choice([None, *MeldKind])),
        LayOff(melds, cards[:2], chance.choice([None, *End])),
        SwapJoker(melds, card),
        Discard(card),
    ]
    return chance.choice(asked)


def some_lay(state: State, seat: int, chance: random.Random) -> Lay:
    """A lay of cards that the seat holds, which may well be refused."""
    while True:
        action = some_action(state, seat, chance)
        if isinstance(action, Lay):
            return action


def reshuffled(state: State, seat: int | None, chance: random.Random) -> State:
    """A state that the seat cannot tell from the given one: other hands and the stock hold each other's cards."""
    hidden = [index for index in range(len(state.hands)) if index != seat]
    cards = list(b"".join((*(state.hands[index] for index in hidden), state.stock)))
    chance.shuffle(cards)
    hands = list(state.hands)
    for index in hidden:
        size = len(hands[index])
        hands[index], cards = bytes(sorted(cards[:size])), cards[size:]
    return msgspec.structs.replace(state, hands=tuple(hands), stock=bytes(cards))
