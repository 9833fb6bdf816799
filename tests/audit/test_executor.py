"""Executors: processes that end, and a real Ray cluster of this machine."""

import gzip
import os
import random

import pytest

from audit import traces
from brim.audit import Policy, audit
from brim.audit.executor import LocalExecutor, executor_of
from brim.errors import SourceError


def _die(_):
    os.kill(os.getpid(), 9)


def test_a_process_that_is_ended_from_outside_is_one_error():
    executor = LocalExecutor(2)
    with pytest.raises(SourceError, match="ended from outside"):
        list(executor.map(_die, [1], size=1))
    executor.close()


@pytest.fixture(scope="module")
def cluster():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 * 1024 * 1024, logging_level="ERROR")
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.mark.ray
@pytest.mark.parametrize("address", [None, "127.0.0.1:1"])
def test_without_a_cluster_the_error_says_how_to_start_one(address):
    """It is the first test: later ones start a cluster in this process."""
    with pytest.raises(SourceError, match="ray start --head"):
        executor_of("ray", None, address)


@pytest.mark.ray
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_bytes_that_processes_give(cluster, tmp_path, monkeypatch):
    dice = random.Random(4)
    records = [record for group in traces.ALL.values() for made in group for record in made()]
    dice.shuffle(bodies := [*traces.openai_bodies()] * 20)
    paths = [traces.write(tmp_path / "a", records), traces.write(tmp_path / "b", bodies)]
    (tmp_path / "bad").write_text("not json\n" + (tmp_path / "a").read_text())
    paths.append(str(tmp_path / "bad"))
    monkeypatch.setattr("brim.audit.records.RANGE", 3_000)
    monkeypatch.setattr("brim.audit.index._LEAST_PART", 3_000)
    policies = [Policy(name="lean", budget=80), Policy(name="held", budget=120, stable=True)]
    own = audit(paths, policies, window=150, workers=1).to_json()
    assert audit(paths, policies, window=150, engine="ray", ray_address=cluster).to_json() == own


@pytest.mark.ray
@pytest.mark.filterwarnings("default")
def test_the_models_of_the_project_are_known_on_the_cluster(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brim.models.yaml").write_text("models: {ours: {window: 60, vocabulary: o200k_base}}\n")
    path = traces.write(tmp_path / "a", [{**body, "model": "ours"} for body in traces.openai_bodies()])
    values = audit([path], engine="ray", ray_address=cluster).values
    assert values["recorded"]["overflows"] == 1
    assert values == audit([path]).values


@pytest.mark.parametrize("workers", [1, 2])
def test_an_unpacked_copy_that_is_removed_is_made_again(tmp_path, workers, caplog):
    plain, packed, spool = tmp_path / "plain.jsonl", tmp_path / "packed", tmp_path / "spool"
    traces.write(plain, traces.openai_log())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    spool.mkdir()

    def removed(*_):
        for copy in spool.glob("*/*.records"):
            copy.unlink()

    lost = audit([str(packed)], workers=workers, spool=str(spool), progress=removed).values
    assert lost["recorded"] == audit([str(plain)]).values["recorded"]
    if workers == 1:  # The logs of other processes are their own.
        assert [record.message for record in caplog.records if "made again" in record.message]


def test_a_copy_that_cannot_be_made_again_is_told_with_its_place(tmp_path):
    packed, spool = tmp_path / "packed", tmp_path / "spool"
    traces.write(tmp_path / "plain", traces.openai_log())
    packed.write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    spool.mkdir()

    def removed(*_):
        packed.unlink(missing_ok=True)
        for copy in spool.glob("*/*.records"):
            copy.unlink()

    with pytest.raises(SourceError, match=f"packed: .*{spool}.* cannot be made again"):
        audit([str(packed)], workers=2, spool=str(spool), progress=removed)
