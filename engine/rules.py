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
    """Whether a joker on the table may be had for the natural that it stands for; `same_turn`: to be played at once."""

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

    The pile turned over, or shuffled, into a new stock; play from the pile only, where not to take ends the deal;
    the end of the deal.
    """

    TURN_OVER = "turn_over"
    SHUFFLE = "shuffle"
    PILE_ONLY = "pile_only"
    END_DEAL = "end_deal"


class Scoring(StrEnum):
    """The winner takes what the others hold; each seat's cards shown minus its hand; the pool."""

    HANDS = "hands"
    MELDS = "melds"
    POOL = "pool"


class AcePoints(StrEnum):
    """What an ace counts: 1; 11 wherever `ace` is `either`, else 1; 15, but 1 where it is low in a run on the table."""

    ONE = "one"
    ELEVEN_IF_HIGH = "eleven_if_high"
    FIFTEEN = "fifteen"


class Foul(StrEnum):
    """What becomes of cards that one holds, laid down as no valid meld: a refusal, or a void hand (P15)."""

    REFUSE = "refuse"
    VOID_HAND = "void_hand"


class Settlement(StrEnum):
    """What is paid: nothing; each deal, by every loser, his own cards; at the end, the difference to the winner."""

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
    """Least and most players, 2-8."""
    packs: int | None
    """52-card packs, 1-4; None: by the number of players (B1, F1)."""
    jokers: int
    """Jokers in all, 0-8 (B1)."""
    hand_size: int | None
    """Cards dealt to each; None: by the number of players and packs (B2, F8)."""
    up_card: bool
    """Whether a card is turned up to start the discard pile (B3)."""
    opening_draw: int
    """In round 1 the k-th player draws this + k - 1 cards; 0: one card, as ever (P7)."""
    discard_draw: DiscardDraw
    use_taken: bool
    """Whether the chosen card of the pile must be used at once (F10)."""
    top_free: bool
    """… but not the top card taken alone."""
    discard_differs: bool
    """Whether a card just taken from the pile, or its equal, is barred from that turn's discard (B6)."""
    discard: Discarding
    set_min: int
    set_max: int
    """Most cards in a set; 0: no limit."""
    distinct_suits: bool
    """Whether the cards of a set, jokers included, are of different suits."""
    run_min: int
    ace: Ace
    lay_off: LayOffs
    joker_swap: JokerSwap
    opening_order: OpeningOrder
    go_out: GoOut
    finish_round: bool
    """Whether the round is completed after someone is out (P16)."""
    stock_empty: StockEmpty
    turn_over_limit: int
    """Turn-overs (or shuffles) allowed in a deal (B8)."""
    idle_limit: int
    """Rounds on end without a draw from the stock or a lay-down that end the deal; 0: no limit (B8)."""
    round_limit: int
    """Rounds in a deal; 0: no limit (P5)."""
    scoring: Scoring
    ace_points: AcePoints
    court_points: int
    joker_points: int
    stake: int | None
    """Points put into the pool each deal (P4); None where there is no pool, as are the next two."""
    carry_over: bool | None
    """Whether an unclaimed pool stays for the next deal (P18)."""
    one_winner: bool | None
    """Whether several seats out are always decided, never shared (P26)."""
    sets_count_once: bool
    """Whether three of a rank left in a hand count as one card (P9)."""
    out_at_once: int
    """Factor for a winner who lays the whole hand in one turn, having laid nothing before (B10)."""
    foul: Foul
    target: int
    """The total that ends the match; 0: none."""
    deals: int
    """The number of deals that ends the match; 0: none."""
    settlement: Settlement
    by_players: ByPlayers


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
