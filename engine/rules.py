"""The rule set: every disputed point of rummy as one field of one value.

The keys and values are those of the rules' JSON form. Whether a rule set can be played is judged in `faults`.
"""

from enum import StrEnum

import msgspec

__all__ = [
    "Ace",
    "AcePoints",
    "ByPlayers",
    "DiscardDraw",
    "Discarding",
    "Foul",
    "GoOut",
    "JokerSwap",
    "LayOffs",
    "OpeningOrder",
    "RuleSet",
    "Scoring",
    "Settlement",
    "StockEmpty",
    "hand_size_for",
    "packs_for",
]  # fmt: skip


class DiscardDraw(StrEnum):
    """What may be taken from the pile: nothing, its top card, or any card with all above it."""

    NONE = "none"
    TOP = "top"
    ANY = "any"


class Discarding(StrEnum):
    """Whether a turn ends with a discard.

    `required`: always, unless the seat is out. `optional`: a turn may end by `pass`, but not the first player's and
    the dealer's turn in round 1 (P11).
    """

    REQUIRED = "required"
    OPTIONAL = "optional"


class Ace(StrEnum):
    """The ace in runs: below the two only, or below the two or above the king (never both, never round the corner)."""

    LOW = "low"
    EITHER = "either"


class LayOffs(StrEnum):
    """On whose melds a seat may lay off: nobody's, those it began, anybody's."""

    NONE = "none"
    OWN = "own"
    ANY = "any"


class JokerSwap(StrEnum):
    """Whether a joker on the table may be taken for the natural that it stands for.

    `same_turn`: it must be played in the turn in which it was taken (B7).
    """

    NEVER = "never"
    TO_HAND = "to_hand"
    SAME_TURN = "same_turn"


class OpeningOrder(StrEnum):
    """Who may lay down: anybody, or the first player alone until someone has knocked (P14)."""

    ANY = "any"
    FIRST_PLAYER = "first_player"


class GoOut(StrEnum):
    """How a seat goes out: by meld, lay-off or discard, or by a final discard only."""

    FREE = "free"
    DISCARD = "discard"


class StockEmpty(StrEnum):
    """What an empty stock leads to.

    `turn_over`, `shuffle`: the pile becomes the new stock. `pile_only`: play goes on from the pile, and a pass ends
    the deal. `end_deal`: a draw that the stock cannot serve ends the deal.
    """

    TURN_OVER = "turn_over"
    SHUFFLE = "shuffle"
    PILE_ONLY = "pile_only"
    END_DEAL = "end_deal"


class Scoring(StrEnum):
    """How a deal is scored.

    `hands`: the winner scores what the others hold. `melds`: each seat scores what it laid minus what it holds.
    `pool`: the winner takes the pool and what the others hold.
    """

    HANDS = "hands"
    MELDS = "melds"
    POOL = "pool"


class AcePoints(StrEnum):
    """An ace counts 1; 11 where `ace` is `either`, otherwise 1; or 15, but 1 where it is low in a run on the table."""

    ONE = "one"
    ELEVEN_IF_HIGH = "eleven_if_high"
    FIFTEEN = "fifteen"


class Foul(StrEnum):
    """What happens to cards that one holds, laid as no valid meld: the lay is refused, or the hand void (P15)."""

    REFUSE = "refuse"
    VOID_HAND = "void_hand"


class Settlement(StrEnum):
    """Who pays whom.

    `none`: nobody. `pay_winner`: in each deal every loser pays the winner for the loser's own cards. `difference`: at
    the end each seat pays the winner the difference between their totals.
    """

    NONE = "none"
    PAY_WINNER = "pay_winner"
    DIFFERENCE = "difference"


class ByPlayers(StrEnum):
    """Whose customs give the packs and the hand size by the number of players, where these are left out."""

    BASIC = "basic"
    RUMMY500 = "rummy500"


class RuleSet(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One way to play. New fields go to the end: the encoded form is positional."""

    seats: tuple[int, int]
    """Fewest and most players, 2-8 (B1, F1)."""
    packs: int | None
    """52-card packs, 1-4; None: by the number of players (B1, F1, P1)."""
    jokers: int
    """Jokers in all, 0-8 (B1, B11, P1)."""
    hand_size: int | None
    """Cards dealt to each, 1-52; None: by the number of players and packs (B2, F8, P6)."""
    up_card: bool
    """Whether a card is turned up to start the discard pile (B3)."""
    opening_draw: int
    """In round 1 the k-th player draws this + k - 1 cards, 0-26; 0: one card, as in every other round (P7)."""
    discard_draw: DiscardDraw
    """What may be taken from the pile: none of it, the top card, or any card with all above it (B6, F9, P12)."""
    use_taken: bool
    """Whether the chosen card of the pile must be used at once (F10)."""
    top_free: bool
    """With `use_taken`: whether the top card, taken alone, need not be used (F10)."""
    discard_differs: bool
    """Whether a card just taken from the pile, or its equal, is barred from that turn's discard (B6)."""
    discard: Discarding
    """Whether a turn ends with a discard (B6, P11)."""
    set_min: int
    """Fewest cards in a set, 2-13 (B5, F2, P8)."""
    set_max: int
    """Most cards in a set, 0-24; 0: no limit (F2)."""
    distinct_suits: bool
    """Whether the cards of a set, jokers included, are of different suits: four at most (F2, B7)."""
    run_min: int
    """Fewest cards in a run, 2-13 (B5, F2, P8)."""
    ace: Ace
    """How an ace ranks in a run (B5, F3)."""
    lay_off: LayOffs
    """On whose melds a seat may lay off (B6, F11)."""
    joker_swap: JokerSwap
    """Whether a joker on the table may be taken for the natural that it stands for (B7, P10)."""
    opening_order: OpeningOrder
    """Who may lay cards before someone has knocked (P14)."""
    go_out: GoOut
    """How the last card may leave a hand (B4)."""
    finish_round: bool
    """Whether the round is completed after someone is out (P16)."""
    stock_empty: StockEmpty
    """What an empty stock leads to (B8, F14, P18)."""
    turn_over_limit: int
    """Turn-overs (or shuffles) allowed in a deal, 0-100; the draw that would need one more voids it (B8)."""
    idle_limit: int
    """Rounds in a row, 0-1000, without a draw from the stock or a lay that end the deal; 0: no limit (B8, F14)."""
    round_limit: int
    """Rounds in a deal, 0-1000; 0: no limit (P5)."""
    scoring: Scoring
    """How a deal is scored (B10, F6, P17)."""
    ace_points: AcePoints
    """What an ace counts (B10, F4, P17)."""
    court_points: int
    """What a king, queen or jack counts, 0-1000 (B10, F4, P17)."""
    joker_points: int
    """What a joker counts, 0-1000 (B10, P17)."""
    stake: int | None
    """Points put into the pool each deal, 0-100000 (P4); None, like the next two, where there is no pool."""
    carry_over: bool | None
    """Whether an unclaimed pool stays for the next deal (P18)."""
    one_winner: bool | None
    """Whether several seats out are always decided, never shared (P26)."""
    sets_count_once: bool
    """Whether three of a rank left in a hand count as one card (P9)."""
    out_at_once: int
    """Factor, 1-10, for a winner who lays the whole hand in one turn, having laid nothing before (B10)."""
    foul: Foul
    """What happens to cards that one holds, laid as no meld or where they do not fit (P15)."""
    target: int
    """The total that ends the match, 0-1000000; 0: none (F7, P2, P25)."""
    deals: int
    """The number of deals that ends the match, 0-10000; 0: none (F7)."""
    settlement: Settlement
    """Who pays whom, and when (B10, F7)."""
    by_players: ByPlayers
    """Whose customs give `packs` and `hand_size` where they are None (B2, F8)."""


def packs_for(rules: RuleSet, seats: int) -> int:
    """The packs that so many players use (B1, F1)."""
    if rules.packs is not None:
        return rules.packs
    most_on_one = 5 if rules.by_players is ByPlayers.BASIC else 4
    return 1 if seats <= most_on_one else 2


def hand_size_for(rules: RuleSet, seats: int) -> int:
    """The cards that each of so many players is dealt (B2, F8)."""
    if rules.hand_size is not None:
        return rules.hand_size
    if rules.by_players is ByPlayers.RUMMY500:
        return 13 if seats == 2 else 7
    if seats == 2:
        return 10
    return 10 if seats >= 4 and packs_for(rules, seats) > 1 else 7
