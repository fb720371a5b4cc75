"""What each method of RuleSetService does. It needs no store: presets are part of the release."""

from collections.abc import Mapping
from typing import Final

from rummy.v1 import rule_set_service_pb2 as pb
from rummy.v1.rule_set_pb2 import RuleSet

from engine.errors import BadRules
from engine.faults import faults
from engine.presets import PRESETS
from service.api.calls import Caller, UnaryHandler
from service.api.convert.rules import DEFAULT, faults_of, rule_set_to, rules_from
from service.api.errors import ApiError, bad_page_token
from service.games.fit import faults_at, settled

__all__ = ["HANDLERS", "SERVICE"]

SERVICE: Final = pb.DESCRIPTOR.services_by_name["RuleSetService"]


async def list_rule_sets(request: pb.ListRuleSetsRequest, _caller: Caller) -> pb.ListRuleSetsResponse:
    """Lists the presets. A page token is the name of the last preset given before."""
    names = list(PRESETS)
    start = 0
    if request.page_token:
        if request.page_token not in names:
            raise bad_page_token()
        start = names.index(request.page_token) + 1
    page = names[start : start + min(request.page_size or 100, 100)]
    more = start + len(page) < len(names)
    return pb.ListRuleSetsResponse(rule_sets=[_preset(name) for name in page], next_page_token=page[-1] if more else "")


async def get_rule_set(request: pb.GetRuleSetRequest, _caller: Caller) -> RuleSet:
    """Gets a preset."""
    name = request.name.removeprefix("ruleSets/")
    if name not in PRESETS:
        text = f"there is no preset {name}; there are {', '.join(PRESETS)}"
        raise ApiError("RULE_SET_NOT_FOUND", text, {"rule_set": request.name})
    return _preset(name)


async def check_rule_set(request: pb.CheckRuleSetRequest, _caller: Caller) -> pb.CheckRuleSetResponse:
    """Checks a rule set: for a table of so many seats, or for every number of players that it admits."""
    response = pb.CheckRuleSetResponse()
    seats = request.seat_count if request.HasField("seat_count") else None
    rule_set = request.rule_set if request.HasField("rule_set") else RuleSet(preset=DEFAULT)
    try:
        rules = rules_from(rule_set)
    except BadRules as error:
        found = list(error.faults)
    else:
        found = faults(rules) if seats is None else faults_at(rules, seats)
        if all(fault.reason != "OUT_OF_RANGE" for fault in found):
            whole = rules if found or seats is None else settled(rules, seats)
            response.rule_set.CopyFrom(rule_set_to(whole, rule_set.preset, players=seats))
    for fault in faults_of(rule_set, found, seats):
        response.faults.add(field=fault.field, reason=fault.reason, description=fault.text)
    return response


HANDLERS: Final[Mapping[str, UnaryHandler]] = {
    "ListRuleSets": list_rule_sets,
    "GetRuleSet": get_rule_set,
    "CheckRuleSet": check_rule_set,
}


def _preset(name: str) -> RuleSet:
    message = rule_set_to(PRESETS[name], name)
    message.name = f"ruleSets/{name}"
    return message
