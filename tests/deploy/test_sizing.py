"""The manifests ask for what the sizing in docs/operations.md says."""

import re

import yaml

from bench.load import capacity as capacity_run
from bench.load.server import ONE_OF_MANY
from tests.deploy.test_manifests import DEPLOY, K8S, Manifest, container, manifests


def capacity() -> dict[str, list[float]]:
    """The numbers of each row of the tables of capacity in docs/operations.md, by the row's name."""
    page = (DEPLOY.parent / "docs" / "operations.md").read_text()
    written = page.partition("<!-- capacity: ")[2].partition("<!-- /capacity -->")[0]
    rows = [re.findall(r"[^|]+", line) for line in written.splitlines() if line.startswith("| ")]
    return {
        name.strip(): [float(found[0].replace(",", "")) for cell in cells if (found := re.findall(r"[\d.,]*\d", cell))]
        for name, *cells in rows
    }


def autoscaler() -> Manifest:
    """What is said of how many servers there may be."""
    found = dict(manifests(K8S / "components" / "autoscale"))
    spec = found["k8s/components/autoscale/autoscaler.yaml"]["spec"]
    assert isinstance(spec, dict)
    return spec


def streams_a_server() -> float:
    """By how many open streams a server the autoscaler adds another."""
    component = yaml.safe_load((K8S / "components" / "autoscale-streams" / "kustomization.yaml").read_text())
    (added,) = yaml.safe_load(component["patches"][0]["patch"])
    return float(added["value"]["pods"]["target"]["averageValue"])


def memory_limit() -> float:
    """Of a server, in MiB."""
    return float(container()["resources"]["limits"]["memory"].removesuffix("Mi"))


def test_the_autoscaler_adds_servers_where_sizing_does() -> None:
    """A server asks for the one core that it can use, and another is added where sizing has it full."""
    (row,) = [name for name in capacity() if name.startswith("workers, each")]
    full = float(re.findall(r"\d+", row)[0])
    assert container()["resources"]["requests"]["cpu"] == "1"
    assert autoscaler()["metrics"][0]["resource"]["target"]["averageUtilization"] == full


def test_there_may_be_as_many_servers_as_sizing_reckons() -> None:
    """The autoscaler may have the servers that 100,000 players take, over whichever front, and a fifth more."""
    (workers,) = [numbers for name, numbers in capacity().items() if name.startswith("workers, each")]
    assert len(workers) == 2
    assert autoscaler()["maxReplicas"] >= 1.2 * max(workers)


def test_a_server_has_the_memory_for_its_share() -> None:
    """A server's share of the players, and as many streams as the autoscaler lets it have, fit into its memory."""
    found = capacity()
    ((_, workers),) = [(name, numbers) for name, numbers in found.items() if name.startswith("workers, each")]
    for gib, count in zip(found["memory of all workers"], workers, strict=True):
        assert gib * 2**10 / count < 0.7 * memory_limit()
    players = 1000
    rows = (found["server, memory"], found["server, per connection"], found["server, per stream"])
    for memory, connection, stream in zip(*rows, strict=True):
        assert memory + (streams_a_server() - players) * (connection + stream) / 2**10 < 0.7 * memory_limit()


def test_production_is_set_as_what_was_measured() -> None:
    """Sizing is reckoned with what production sets: how often a server looks, and how long what is over is kept."""
    (made,) = yaml.safe_load((K8S / "overlays" / "production" / "kustomization.yaml").read_text())["configMapGenerator"]
    settings = dict(literal.split("=") for literal in made["literals"])
    assert float(settings["RUMMYD_KEEP_OVER_SECONDS"]) == capacity_run.KEPT_S
    assert settings["RUMMYD_CLOCK_SECONDS"] == dict([ONE_OF_MANY])["--clock-seconds"]


def test_the_guide_and_the_autoscaler_name_one_number_of_streams() -> None:
    """Where docs/operations.md says how many streams are many, it is the number that the autoscaler goes by."""
    page = (DEPLOY.parent / "docs" / "operations.md").read_text()
    (told,) = re.findall(r"\| `rummyd_open_streams` \| over ([\d,]+) per worker", page)
    assert float(told.replace(",", "")) == streams_a_server()


def test_the_proxy_has_connections_for_two_full_servers() -> None:
    """Each worker of the proxy may have two connections for each stream of the two servers behind it."""
    text = (DEPLOY / "proxy" / "nginx.conf").read_text()
    ((connections, files),) = zip(
        re.findall(r"worker_connections (\d+);", text), re.findall(r"worker_rlimit_nofile (\d+);", text), strict=True
    )
    assert int(connections) >= 2 * 2 * streams_a_server()
    compose = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())
    assert int(connections) <= int(files) <= compose["services"]["proxy"]["ulimits"]["nofile"]
