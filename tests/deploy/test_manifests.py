"""The manifests and the compose file say of rummyd what is true of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dockerfile_parse
import pytest
import yaml

from service import settings
from service.observability import metrics
from service.settings import Settings
from tests.e2e.live import Rummyd
from tests.web import HTTP

DEPLOY = Path(__file__).parents[2] / "deploy"
K8S = DEPLOY / "k8s"
GUIDE = DEPLOY.parent / "docs" / "operations.md"
Manifest = dict[str, Any]


def manifests(folder: Path = K8S) -> Iterator[tuple[str, Manifest]]:
    """Each document with the path of its file."""
    for path in sorted(folder.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if "kind" in document:  # else it is some program's configuration
                yield path.relative_to(DEPLOY).as_posix(), document


def deployment() -> Manifest:
    """That of rummyd itself."""
    (found,) = [document for _, document in manifests(K8S / "base") if document["kind"] == "Deployment"]
    return found


def container() -> Manifest:
    """The one of its pods."""
    (found,) = deployment()["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def variables() -> dict[str, dict[str, str]]:
    """What each place sets: the base with each overlay's additions, the image, the compose file."""
    base = pairs((K8S / "base" / "settings.env").read_text().split())
    secret = {"RUMMYD_REDIS_URL": "redis+cluster://host"}
    overlays = {
        path: base | secret | pairs(literal for made in document["configMapGenerator"] for literal in made["literals"])
        for path, document in manifests(K8S / "overlays")
        if document["kind"] == "Kustomization"
    }
    compose = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())
    parser = dockerfile_parse.DockerfileParser(path=str(DEPLOY))
    image = {name: text for name, text in parser.envs.items() if name.startswith("RUMMYD_")}
    return overlays | {"compose": compose["services"]["rummyd-1"]["environment"], "image": image}


def pairs(lines: Any) -> dict[str, str]:
    """NAME=text as a dict."""
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("place", ["k8s/overlays/dev/kustomization.yaml", "k8s/overlays/production/kustomization.yaml"])
def test_an_overlay_sets_what_can_be_set(place: str) -> None:
    """The variables of an overlay, over those of the image, are settings that a server starts with."""
    everything = variables()
    found = settings.read([], everything["image"] | everything[place])
    assert found.redis_url
    assert found.trusted_proxies == 1  # a Gateway or an Ingress
    assert found.grpc_host == found.rest_host == found.metrics_host == "0.0.0.0"  # noqa: S104  within a pod


def test_the_compose_file_sets_what_can_be_set() -> None:
    """The variables of the compose file, over those of the image, are settings that a server starts with."""
    everything = variables()
    found = settings.read([], everything["image"] | everything["compose"])
    assert found.redis_url == "redis://redis:6379"
    assert found.trusted_proxies == 1


def test_a_server_has_the_time_to_drain() -> None:
    """What ends a server waits for longer than its grace time, and in Kubernetes for the pause before it, too."""
    spec = deployment()["spec"]["template"]["spec"]
    grace = float(pairs((K8S / "base" / "settings.env").read_text().split())["RUMMYD_GRACE_SECONDS"])
    pause = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] >= pause + grace + 10
    service = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())["services"]["rummyd-1"]
    wait = float(service["stop_grace_period"].removesuffix("s"))
    assert wait >= float(service["environment"]["RUMMYD_GRACE_SECONDS"]) + 5
    told = re.findall(r"docker run (?:--stop-timeout (\d+) )?--read-only", GUIDE.read_text())
    assert [float(seconds or 10) >= Settings().grace_seconds + 5 for seconds in told] == [True]


def test_ports_are_those_of_the_settings() -> None:
    """Containers and the image expose the ports that a server listens on."""
    found = {port["name"]: port["containerPort"] for port in container()["ports"]}
    default = Settings()
    assert found == {"grpc": default.grpc_port, "rest": default.rest_port, "metrics": default.metrics_port}
    exposed = re.findall(r"^EXPOSE (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert [set(map(int, line.split())) for line in exposed] == [set(found.values())]


def test_probes_ask_what_a_server_answers(tmp_path: Path, redis_url: str) -> None:
    """Each probe's path answers 200 on a server that is well."""
    paths = {container()[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"/healthz", "/readyz"}
    with Rummyd(tmp_path, redis_url=redis_url) as server:
        assert {HTTP.get(server.rest + path).status_code for path in paths} == {200}


def test_no_proxy_cuts_off_a_quiet_stream() -> None:
    """The proxy of the compose file waits for longer than a stream is ever silent."""
    text = (DEPLOY / "proxy" / "nginx.conf").read_text()
    waits = [int(seconds) for seconds in re.findall(r"(?:proxy|grpc)_read_timeout (\d+)s;", text)]
    assert len(waits) == 2
    assert min(waits) > 2 * Settings().heartbeat_seconds


def test_scaling_looks_at_a_metric_that_exists() -> None:
    """The adapter, the autoscaler and its permission name one gauge that a server gives."""
    folder = K8S / "components" / "autoscale-streams"
    name = metrics.open_streams._name
    (rule,) = yaml.safe_load((folder / "adapter.config.yaml").read_text())["rules"]
    assert rule["seriesQuery"].startswith(f"{name}{{")
    (patch,) = yaml.safe_load((folder / "kustomization.yaml").read_text())["patches"]
    (added,) = yaml.safe_load(patch["patch"])
    assert added["value"]["pods"]["metric"]["name"] == name
    assert f"resources: [pods/{name}]" in (folder / "access.yaml").read_text()


def test_every_component_is_in_an_overlay() -> None:
    """What no overlay builds, nothing would check."""
    used = {
        Path(component).name
        for path, document in manifests(K8S / "overlays")
        if document["kind"] == "Kustomization"
        for component in document["components"]
    }
    assert used == {path.parent.name for path in K8S.glob("components/*/kustomization.yaml")}


def test_every_pod_is_restricted() -> None:
    """Each pod runs as an unprivileged user, writes to volumes alone, gains nothing and asks nothing of Kubernetes."""
    pods = [
        (path, document["metadata"]["name"], document["spec"]["template"]["spec"])
        for path, document in manifests()
        if document["kind"] in {"Deployment", "StatefulSet"}
    ]
    assert [name for _, name, _ in pods] == ["rummyd", "prometheus-adapter", "redis"]
    for path, name, pod in pods:
        assert pod["securityContext"]["runAsNonRoot"], path
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, path
        assert pod["automountServiceAccountToken"] == (name == "prometheus-adapter"), path
        assert pod["enableServiceLinks"] is False, path
        for one in pod["containers"]:
            rights = one["securityContext"]
            assert rights["readOnlyRootFilesystem"], path
            assert not rights["allowPrivilegeEscalation"], path
            assert rights["capabilities"] == {"drop": ["ALL"]}, path


def test_services_lead_somewhere() -> None:
    """Every port of a Service is one that a container of its pods names."""
    named: dict[str, set[str]] = {}
    for _, document in manifests():
        if document["kind"] in {"Deployment", "StatefulSet"}:
            label = document["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"]
            for one in document["spec"]["template"]["spec"]["containers"]:
                named.setdefault(label, set()).update(port["name"] for port in one["ports"])
    for path, document in manifests():
        if document["kind"] == "Service":
            ports = {port["targetPort"] for port in document["spec"]["ports"]}
            assert ports <= named[document["spec"]["selector"]["app.kubernetes.io/name"]], path


def test_names_are_looked_up_alike() -> None:
    """Whoever must look up names may do so wherever a cluster answers: no policy says which pods those are."""
    rules = [
        rule
        for path, document in manifests()
        if document["kind"] == "NetworkPolicy"
        for rule in document["spec"].get("egress", [])
        if any(port.get("port") == 53 for port in rule["ports"])
    ]
    assert len(rules) == 2
    assert rules[0] == rules[1]
    assert rules[0].keys() == {"ports"}
    assert {(port["port"], port["protocol"]) for port in rules[0]["ports"]} == {
        (53, "UDP"), (53, "TCP"), (5353, "UDP"), (5353, "TCP")
    }  # fmt: skip


def test_images_of_others_are_pinned_by_digest() -> None:
    """What others have built is named by tag and digest; where a digest is not known, that is said beside it."""
    compose = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())
    images = {service["image"] for service in compose["services"].values()}
    annotations = dict[str, str]()
    for _, document in manifests():
        if document["kind"] in {"Deployment", "StatefulSet"}:
            for one in document["spec"]["template"]["spec"]["containers"]:
                images.add(one["image"])
                annotations[one["image"]] = " ".join(document["metadata"]["annotations"].values())
    own = {"rummyd", "rummyd:latest"}
    loose = {image for image in images - own if not re.fullmatch(r"[^:@]+:[^:@]+@sha256:[0-9a-f]{64}", image)}
    assert len(images) == 7
    assert [image for image in loose if "CKV_K8S_43=" not in annotations.get(image, "")] == []
    assert len({image for image in images if image.startswith("valkey/")}) == 1


def test_each_redis_has_a_bound_and_throws_nothing_away() -> None:
    """Wherever a Redis comes with it, its memory has a bound, at which it refuses and throws no match away."""
    compose = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())["services"]["redis"]["command"]
    configuration = (K8S / "components" / "redis" / "redis.conf").read_text()
    for text in (compose, configuration):
        assert re.search(r"\bmaxmemory (\$\{REDIS_MAXMEMORY:-1gb\}|\d+mb)\s", text)
        assert "maxmemory-policy noeviction" in text
        assert "appendonly yes" in text


def test_a_prometheus_that_looks_for_a_label_finds_it() -> None:
    """What the monitoring component adds for a Prometheus has, in production, the label of its release."""
    overlay = yaml.safe_load((K8S / "overlays" / "production" / "kustomization.yaml").read_text())
    (patch,) = [patch for patch in overlay["patches"] if "ServiceMonitor" in patch["target"]["kind"]]
    assert yaml.safe_load(patch["patch"])["metadata"]["labels"].keys() == {"release"}
    added = {document["kind"] for _, document in manifests(K8S / "components" / "monitoring")}
    for kind in added - {"Component", "NetworkPolicy"}:
        assert re.fullmatch(patch["target"]["kind"], kind)


def test_a_failover_takes_no_server_out() -> None:
    """Servers are left out after the time that the guide names, which is longer than a failover takes where a master is
    given up as soon as the guide has it: until then they say themselves what is the matter.
    """
    guide, overlay = GUIDE.read_text(), (K8S / "overlays" / "production" / "kustomization.yaml").read_text()
    silent_ms = dict(re.findall(r"`(down-after-milliseconds|cluster-node-timeout) (\d+)`", guide))
    assert silent_ms.keys() == {"down-after-milliseconds", "cluster-node-timeout"}
    assert f"cluster-node-timeout {silent_ms['cluster-node-timeout']}," in overlay
    probe = container()["readinessProbe"]
    left_out_s = probe["periodSeconds"] * probe["failureThreshold"]
    # A cluster may notice after one and a half of that time; then a replica is agreed on, and may be a second time.
    assert left_out_s >= 3 * max(map(int, silent_ms.values())) / 1000
    assert f"out of the Services after {left_out_s} seconds of this" in " ".join(guide.split())


def test_a_cluster_is_told_to_go_on_without_a_master() -> None:
    """Whoever brings a cluster reads, in the guide and in the overlay, that it must not stop all slots for some."""
    for page in (K8S / "overlays" / "production" / "kustomization.yaml", GUIDE):
        assert "cluster-require-full-coverage no" in page.read_text()


@pytest.mark.parametrize(
    ("overlay", "component"), [("production", "gateway"), ("dev", "ingress")], ids=["production", "dev"]
)
def test_an_overlay_says_where_proxies_run(overlay: str, component: str) -> None:
    """The namespace that proxies are let in from is a line of the overlay: no cluster has them where another has."""
    found = yaml.safe_load((K8S / "overlays" / overlay / "kustomization.yaml").read_text())
    (policy,) = [
        document for _, document in manifests(K8S / "components" / component) if document["kind"] == "NetworkPolicy"
    ]
    (patch,) = [each for each in found["patches"] if each["target"].get("name") == policy["metadata"]["name"]]
    (change,) = yaml.safe_load(patch["patch"])
    assert change["path"] == "/spec/ingress/0/from/0/namespaceSelector/matchLabels"
    assert change["value"] == policy["spec"]["ingress"][0]["from"][0]["namespaceSelector"]["matchLabels"]


def test_api_keys_have_a_place() -> None:
    """A Secret of API keys is mounted where there is one, and the overlay names its file as the setting wants it."""
    (volume,) = [each for each in deployment()["spec"]["template"]["spec"]["volumes"] if "secret" in each]
    (mount,) = [each for each in container()["volumeMounts"] if each["name"] == volume["name"]]
    secret = volume["secret"]
    assert secret["optional"]
    for page in (K8S / "overlays" / "production" / "kustomization.yaml", GUIDE):
        says = page.read_text()
        assert re.search(rf"RUMMYD_API_KEYS_FILE={mount['mountPath']}/api-keys\b", says)
        assert f"create secret generic {secret['secretName']} --from-file=api-keys=FILE" in says


def test_the_namespace_comes_before_what_goes_into_it() -> None:
    """Whoever follows the guide to production has the namespace, as the base makes it, before its Secret, then all."""
    assert [document["kind"] for path, document in manifests() if path == "k8s/base/namespace.yaml"] == ["Namespace"]
    steps = re.findall(
        r"^kubectl (apply -f deploy/k8s/base/namespace.yaml|-n rummyd create secret|apply -k \S+/production)$",
        re.sub(r" generic .*", "", GUIDE.read_text()),
        re.MULTILINE,
    )
    assert steps == [
        "apply -f deploy/k8s/base/namespace.yaml",
        "-n rummyd create secret",
        "apply -k deploy/k8s/overlays/production",
    ]
