from typing import Any

from coxswain.shell.cache import Cache
from coxswain.shell.cluster import JOBS, PODS

KEY = ("here", "train")


def thing(version: int, uid: str = "a", name: str = "train", **labels: str) -> dict[str, Any]:
    metadata = {"namespace": "here", "name": name, "uid": uid, "resourceVersion": str(version), "labels": labels}
    return {"metadata": metadata}


def test_an_older_version_changes_nothing() -> None:
    cache = Cache()
    assert cache.put(JOBS, thing(10))
    assert not cache.put(JOBS, thing(9))
    assert not cache.put(JOBS, thing(10))
    assert cache.get(JOBS, KEY) == thing(10)
    assert cache.put(JOBS, thing(100))


def test_news_of_an_earlier_object_does_not_drop_the_later_one() -> None:
    cache = Cache()
    cache.put(JOBS, thing(10, "first"))
    cache.put(JOBS, thing(20, "second"))
    cache.drop(JOBS, thing(15, "first"))
    assert cache.get(JOBS, KEY) == thing(20, "second")
    assert not cache.put(JOBS, thing(12, "first"))


def test_a_list_drops_what_has_vanished_but_not_what_came_since() -> None:
    time = 0.0
    cache = Cache(lambda: time)
    cache.put(JOBS, thing(1, "a", "gone"))
    time = 5.0
    cache.put(JOBS, thing(9, "b", "new"))
    changed = cache.replace(JOBS, [thing(3, "c", "there")], began=2.0)
    assert sorted(changed) == [("here", "gone"), ("here", "there")]
    assert sorted(manifest["metadata"]["name"] for manifest in cache.all(JOBS)) == ["new", "there"]


def test_a_list_of_one_namespace_says_nothing_of_others() -> None:
    cache = Cache(lambda: 0.0)
    cache.put(JOBS, thing(1))
    assert cache.replace(JOBS, [], began=1.0, namespace="elsewhere") == []
    assert cache.replace(JOBS, [], began=1.0, namespace="here") == [KEY]


def test_a_pods_last_version_stays_until_it_is_of_no_use() -> None:
    cache = Cache()
    pod = thing(1, "p", "pod", **{"coxswain.dev/job": "train"})
    cache.put(PODS, pod)
    last = thing(2, "p", "pod", **{"coxswain.dev/job": "train"})
    cache.drop(PODS, last)
    assert cache.all(PODS) == []
    assert cache.pods_of(KEY) == [last]
    cache.forget_pods(KEY)
    assert cache.pods_of(KEY) == []
