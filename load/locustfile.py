"""Who comes to a rummyd, for Locust: players, watchers, those who lose their connections, those who come and go.

`make load` runs it on a server of its own; docs/operations.md tells more. An act's latency counts from the moment when
its player had done thinking, over all tries.
"""

import logging
import random
import sys
import time
from argparse import ArgumentParser
from collections import deque
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import gevent
from locust import FastHttpUser, LoadTestShape, between, events, task
from locust.env import Environment
from locust.runners import Runner, WorkerRunner
from redis import RedisError

from bench.load.meters import Meters
from load import play
from load.cpu import Cpu
from load.latencies import ACT, COMMIT, NEWS, requests, summary, tell
from load.news import Due
from load.rest import Refused, Rest
from load.stream import Stream

STORM_S: Final = 10.0
"""How often, on the clock of all, streams are dropped and resumed at once."""
STORM_STREAMS: Final = 10
BOTS_AFTER_S: Final = 3.0
"""How long a player waits for others."""
STEPS: Final = 4

_log: Final = logging.getLogger(__name__)

tables: deque[str] = deque(maxlen=200)
"""Tables at which players of this process have sat down of late: those that are watched."""


@cache
def due_of(environment: Environment) -> Due:
    """The acts of this process, of which its streams tell."""
    return Due(lambda seconds: tell(environment, NEWS, seconds, every_s=environment.parsed_options.think))


@events.init_command_line_parser.add_listener
def _flags(parser: ArgumentParser) -> None:
    parser.add_argument("--think", type=float, default=2.0, help="seconds that players think over an act, on average")
    parser.add_argument("--max-fail-ratio", type=float, default=0.01, help="the share of requests that may fail")
    for flag, who in (("--metrics", "the server's metrics"), ("--redis", "its Redis")):
        parser.add_argument(flag, default="", help=f"the URL of {who}, to tell CPU per act")


@events.init.add_listener
def _begin(environment: Environment, runner: Runner | None, **_: Any) -> None:
    """Has CPU time measured from before the crowd comes until it stops, where somebody can be asked."""
    options = environment.parsed_options
    if isinstance(runner, WorkerRunner) or not (options.metrics or options.redis):
        return
    try:
        cpu = Cpu(Meters(options.metrics, options.redis).read_now)
    except (OSError, RedisError, ValueError) as error:
        sys.exit(f"load: {error}")

    def stop(**_: Any) -> None:
        """Before those who are at a table leave it, or before all is told, whichever comes first."""
        with suppress(OSError, RedisError, ValueError):  # the server is gone: nothing is told of it
            cpu.stop()

    def tell_of_it(**_: Any) -> None:
        stop()
        if told := cpu.told():
            print(told)

    environment.events.test_stopping.add_listener(stop)
    environment.events.quitting.add_listener(tell_of_it)


@events.quitting.add_listener
def _judge(environment: Environment, **_: Any) -> None:
    """Tells of latencies, and the exit status: 1 where more failed than may, or nobody did anything.

    Of several processes the master does.
    """
    if isinstance(environment.runner, WorkerRunner):
        return
    options = environment.parsed_options
    for line in summary(Path(f"{options.csv_prefix}_latencies.json") if options.csv_prefix else None):
        print(line)
    (made, failed), most = requests(environment), options.max_fail_ratio
    faults = [] if made else ["nothing was asked"]
    if failed > most * made:
        faults.append(f"{failed / made:.2%} of {made} requests failed: more than {most:.2%}")
    if Player in environment.user_classes and not environment.stats.get(ACT[1], ACT[0]).num_requests:
        faults.append("nobody acted")
    if gaps := environment.stats.get(COMMIT[1], COMMIT[0]).num_failures:
        faults.append(f"{gaps} versions did not follow the one before")
    for fault in faults:
        _log.error(fault)
    environment.process_exit_code = int(bool(faults))


class Guest(FastHttpUser):
    """What all have in common: the API."""

    abstract = True
    concurrency = STORM_STREAMS + 10
    wait_time = between(0.5, 2)

    def on_start(self) -> None:
        """Has the API at hand."""
        self.rest = Rest(self.client)
        self.due = due_of(self.environment)

    def stream(self, table: str, token: str = "") -> Stream:
        """A stream of a table."""
        return Stream(self.rest, self.environment, self.due, table, token)


class Player(Guest):
    """Sits down at a table for two to four, and plays a match as people do."""

    weight = 10
    seat, table, token = 0, "", ""

    @task
    def match(self) -> None:
        """A match, from quick join to its end."""
        joined = play.quick_join(self.rest, random.randint(2, 4))
        self.seat, self.table, self.token = joined["seat"], joined["game"]["name"], joined["token"]
        tables.append(self.table)
        patience = gevent.spawn_later(BOTS_AFTER_S, play.bots, self.rest, self.table, self.token)
        try:
            with self.stream(self.table, self.token).queued() as news:
                for told in news:
                    if play.turn_of(told) == self.seat:
                        self.turn()
        finally:
            patience.kill()
        self.token = ""

    def turn(self) -> None:
        """The acts of a turn. Where it is somebody else's after all, none."""
        view = play.look(self.rest, self.table, self.token)
        while view.get("turn") == self.seat and "options" in view:
            think = self.environment.parsed_options.think
            since = time.monotonic() + random.uniform(0.5, 1.5) * think
            gevent.sleep(since - time.monotonic())
            failed: Refused | None = None
            try:
                view = play.act(self.rest, self.table, self.token, view, since=since, due=self.due)
            except Refused as refused:
                failed = refused
            tell(self.environment, ACT, time.monotonic() - since, failed, every_s=think)
            if failed:
                return

    def on_stop(self) -> None:
        """Leaves the table; the last one to leave ends the match. All do at once, so that it is in no figure."""
        self.rest.counted = False
        if self.token:
            play.leave(self.rest, self.table, self.token)


class Watcher(Guest):
    """Watches a table, and loses the connection now and then."""

    weight = 3

    @task
    def watch(self) -> None:
        """A table, over some streams."""
        if not tables:
            return
        stream = self.stream(random.choice(tables))
        for _ in range(3):
            with gevent.Timeout(random.uniform(3, 10), False), stream.queued() as news:
                for _ in news:
                    pass
                return


class ReconnectStorm(Guest):
    """Many streams, which all break off at the same moment as those of all others do, and are resumed at once."""

    weight = 1

    @task
    def storm(self) -> None:
        """Two storms over the same tables."""
        streams = [self.stream(table) for table in random.sample(list(tables), min(len(tables), STORM_STREAMS))]
        for _ in range(3):
            watching = [gevent.spawn(self.follow, stream) for stream in streams]
            try:
                gevent.sleep(STORM_S - time.time() % STORM_S)
            finally:
                gevent.killall(watching)

    def follow(self, stream: Stream) -> None:
        """Follows a table to its end."""
        with suppress(Refused):  # it has been counted
            for _ in stream.follow():
                pass


class QuickJoiner(Guest):
    """Takes a seat wherever there is one, and thinks better of it."""

    weight = 1

    @task
    def come_and_go(self) -> None:
        """A seat, taken and given up."""
        joined = play.quick_join(self.rest, random.randint(2, 4))
        play.leave(self.rest, joined["game"]["name"], joined["token"])


class Ramp(LoadTestShape):
    """In four steps to the number of `--users` in the first half of `--run-time`; then all stay to its end.

    Without a run time a step takes a second, and all stay until the run is stopped.
    """

    use_common_options = True

    def tick(self) -> tuple[int, float] | None:
        """How many there shall be now, and how many may come in a second."""
        options: Any = self.runner.environment.parsed_options if self.runner else None
        users, lasts, passed = options.num_users or 1, options.run_time, self.get_run_time()
        if lasts and passed > lasts:
            return None
        a_step = lasts / 2 / STEPS if lasts else 1.0
        return max(1, users * min(STEPS, 1 + int(passed / a_step)) // STEPS), max(1.0, 2 * users / STEPS / a_step)
