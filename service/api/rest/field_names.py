"""What the callers of REST know the fields of a request by: as JSON writes them, from where the body begins.

name_in(route)("game.rule_set.hand_size")    "ruleSet.handSize" of CreateGame, whose body is the game
"""

from collections.abc import Callable

from google.protobuf.descriptor import Descriptor

from service.api.rest.routes import Route

__all__ = ["BODY", "name_in"]

BODY = "body"
"""What the whole body is called."""


def name_in(route: Route) -> Callable[[str], str]:
    """From the path of a field in the request message to its name in a request by this route.

    What is no field of the message, as in the name of a header, is left as it is.
    """

    def name(path: str) -> str:
        names: list[str] = []
        descriptor: Descriptor | None = route.method.input_type
        for step in path.split("."):
            own, bracket, index = step.partition("[")
            field = descriptor.fields_by_name.get(own) if descriptor else None
            names.append((field.json_name if field else own) + bracket + index)
            descriptor = field.message_type if field else None
        if route.body and path.partition(".")[0] == route.body:
            return ".".join(names[1:]) or BODY
        return ".".join(names)

    return name
