"""The named games: Basic Rummy, Rummy 500, Pool Rummy 500 and its two variants."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from engine.rules import (
    Ace,
    AcePoints,
    ByPlayers,
    DiscardDraw,
    Discarding,
    Foul,
    GoOut,
    JokerSwap,
    LayOffs,
    OpeningOrder,
    RuleSet,
    Scoring,
    Settlement,
    StockEmpty,
)

__all__ = ["PRESETS"]

_BASIC = RuleSet(
    seats=(2, 7),
    packs=None,
    jokers=0,
    hand_size=None,
    up_card=True,
    opening_draw=0,
    discard_draw=DiscardDraw.TOP,
    use_taken=False,
    top_free=False,
    discard_differs=True,
    discard=Discarding.REQUIRED,
    set_min=3,
    set_max=0,
    distinct_suits=False,
    run_min=3,
    ace=Ace.LOW,
    lay_off=LayOffs.ANY,
    joker_swap=JokerSwap.TO_HAND,
    opening_order=OpeningOrder.ANY,
    go_out=GoOut.FREE,
    finish_round=False,
    stock_empty=StockEmpty.TURN_OVER,
    turn_over_limit=3,
    idle_limit=10,
    round_limit=0,
    scoring=Scoring.HANDS,
    ace_points=AcePoints.ELEVEN_IF_HIGH,
    court_points=10,
    joker_points=15,
    stake=None,
    carry_over=None,
    one_winner=None,
    sets_count_once=False,
    out_at_once=1,
    foul=Foul.REFUSE,
    target=0,
    deals=1,
    settlement=Settlement.NONE,
    by_players=ByPlayers.BASIC,
)

_RUMMY500 = replace(
    _BASIC,
    seats=(2, 8),
    discard_draw=DiscardDraw.ANY,
    use_taken=True,
    discard_differs=False,
    set_max=4,
    distinct_suits=True,
    ace=Ace.EITHER,
    joker_swap=JokerSwap.NEVER,
    stock_empty=StockEmpty.PILE_ONLY,
    scoring=Scoring.MELDS,
    ace_points=AcePoints.FIFTEEN,
    target=500,
    deals=0,
    settlement=Settlement.DIFFERENCE,
    by_players=ByPlayers.RUMMY500,
)

_POOL500 = replace(
    _BASIC,
    seats=(2, 4),
    packs=2,
    jokers=2,
    hand_size=13,
    up_card=False,
    opening_draw=3,
    discard_draw=DiscardDraw.NONE,
    discard_differs=False,
    discard=Discarding.OPTIONAL,
    joker_swap=JokerSwap.NEVER,
    opening_order=OpeningOrder.FIRST_PLAYER,
    finish_round=True,
    stock_empty=StockEmpty.END_DEAL,
    idle_limit=0,
    round_limit=10,
    scoring=Scoring.POOL,
    ace_points=AcePoints.ONE,
    stake=30,
    carry_over=True,
    one_winner=False,
    sets_count_once=True,
    foul=Foul.VOID_HAND,
    target=500,
    deals=0,
)

PRESETS: Mapping[str, RuleSet] = MappingProxyType(
    {
        "basic": _BASIC,
        "rummy500": _RUMMY500,
        "pool500": _POOL500,
        "pool300": replace(_POOL500, target=300),
        "pool500-cutthroat": replace(_POOL500, stake=0, carry_over=False, one_winner=True),
    }
)
"""Every preset by its name. `engine.faults.complete` overrides single fields of one."""
