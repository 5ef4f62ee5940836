"""Jobs that Kueue queues, whatever happens to them there: never is there a second Job that it could start."""

from typing import Any

from coxswain.core.api.status import MOST_ATTEMPTS, Adjusted
from coxswain.core.jobs import actions
from coxswain.core.jobs.decision import Decision
from coxswain.core.jobs.life import decide
from coxswain.core.jobs.view import Advice, Child, Job
from tests.unit.jobs.making import NOON, after, child, ended, job, next_job, pod, running, seen

KUEUE: dict[str, Any] = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}
PEER_LOST = {"state": "failed", "reason": "PeerLost", "message": "worker 1 is gone."}


def queued_child(
    *conditions: tuple[str, str], number: int = 1, suspend: bool = True, active: int = 0, **template: Any
) -> Child:
    """The Job of an attempt in Kueue."""
    metadata = {**KUEUE, "name": f"train-{number}"}
    made = child(*conditions, uid=f"child{number}", suspend=suspend, active=active, metadata=metadata)
    made.manifest["spec"].update(template)
    return made


class World:
    """A job in Kueue and its Job there, as long as it has one; what is decided is carried out."""

    def __init__(self, **spec: Any) -> None:
        self.job = job(metadata=KUEUE, **spec)
        self.child: Child | None = None
        self.pods: tuple[Any, ...] = ()
        self.seconds = 0.0
        self.created: list[str] = []

    def look(self) -> Decision:
        """Decide, and do what was decided; there is never a second Job while one may run."""
        attempt = self.job.status.attempt
        found = self.child if self.child and attempt and self.child.name == attempt.job_name else None
        past = (self.child,) if self.child and not found else ()
        decision = decide(seen(self.job, self.seconds, child=found, pods=self.pods, past=past))
        for action in decision.actions:
            assert not isinstance(action, actions.TakeDown)
            if isinstance(action, actions.Launch):
                assert self.child is None or self.child.ended
                self.child = queued_child(number=action.number)
                self.created.append(self.child.name)
            elif isinstance(action, actions.Retarget):
                assert self.child is not None
                told = {"metadata": {"annotations": dict(action.annotations)}}
                self.child = self.seen_as(template=told)
            elif isinstance(action, actions.Discard):
                assert self.child is not None
                assert (action.job_name, action.uid, action.version) == (self.child.name, self.child.uid, "7")
                self.child = None
        self.job = next_job(self.job, decision)
        return decision

    def settle(self) -> None:
        """Look until nothing is left to do."""
        for _ in range(9):
            before = self.job.status
            if not self.look().actions and self.job.status == before:
                return
        raise AssertionError(self.job.status)

    def seen_as(self, *conditions: tuple[str, str], **spec: Any) -> Child:
        """The Job with something of its spec changed, or at its end."""
        assert self.child is not None
        manifest = self.child.manifest
        held = [{"type": kind, "status": "True", "reason": reason} for kind, reason in conditions]
        return Child({**manifest, "spec": {**manifest["spec"], **spec}, "status": {"conditions": held}})

    def start(self) -> None:
        """What Kueue does when there is room."""
        self.child = self.seen_as(suspend=False)
        self.pods = (running(),)
        self.settle()

    def preempt(self) -> None:
        """What Kueue does when others need the room."""
        self.child = self.seen_as(suspend=True)
        self.pods = ()

    def ask(self, **spec: Any) -> None:
        """What the user does."""
        self.job = Job({**self.job.manifest, "spec": {**self.job.manifest["spec"], **spec}})

    @property
    def reason(self) -> str:
        condition = self.job.status.condition("Admitted")
        assert condition
        return condition.reason


def _told(**annotations: str) -> dict[str, Any]:
    told = {f"coxswain.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return {"template": {"metadata": {"annotations": told}}}


def test_a_job_in_kueue_is_handed_over_and_fixed_only_when_kueue_starts_it() -> None:
    asked = job(metadata=KUEUE, parameters={"epochs": 9})
    entered = decide(seen(asked)).status
    assert (entered.state, entered.started_parameters) == ("Pending", None)
    handed = job(entered, metadata=KUEUE, parameters={"epochs": 9})
    launch = decide(seen(handed))
    assert launch.actions == (actions.Launch(1),)
    waiting = next_job(handed, launch)
    held = queued_child()
    retarget = decide(seen(waiting, child=held)).actions[0]
    assert isinstance(retarget, actions.Retarget)
    assert ("coxswain.dev/epochs", "9") in retarget.annotations
    free = queued_child(suspend=False)
    free.manifest["spec"].update(_told(epochs="7", batch_size="32"))
    begun_there = decide(seen(waiting, child=free)).status
    assert begun_there.started_parameters
    # What its pods were told when Kueue started it, whatever was planned meanwhile.
    assert (begun_there.started_parameters["epochs"], begun_there.started_parameters["batchSize"]) == (7, 32)
    assert not any(isinstance(each, actions.TakeDown) for each in decide(seen(waiting, child=held)).actions)


def test_a_job_in_kueue_is_steered_while_it_waits_there_but_not_in_what_kueue_has_counted() -> None:
    epochs = {"field": "epochs", "min": 1, "max": 9}
    change = Adjusted(time=NOON, field="epochs", before=9, to=4, reason="in time with 4.")
    asked = job(metadata=KUEUE, parameters={"epochs": 9}, adjust=[epochs], steered={"epochs": 4})
    entered = next_job(asked, decide(seen(asked)))
    handed = next_job(entered, decide(seen(entered)))
    assert handed.waits_in_kueue
    assert not handed.waits
    decision = decide(seen(handed, child=queued_child(), advice=Advice(adjusted=(change,))))
    (retarget,) = decision.actions
    assert isinstance(retarget, actions.Retarget)
    assert ("coxswain.dev/epochs", "4") in retarget.annotations
    assert [(each.field, each.to) for each in decision.status.adjustments] == [("epochs", 4)]
    fewer = job(metadata=KUEUE, adjust=[{"field": "workers", "values": [1, 2]}])
    assert fewer.refusal is not None
    assert "workers cannot be adjusted" in fewer.refusal
    assert not fewer.waits_in_kueue


def test_a_job_that_kueue_starts_before_a_change_reaches_its_pods_says_what_it_runs_with() -> None:
    epochs = {"field": "epochs", "min": 1, "max": 9}
    world = World(parameters={"epochs": 9}, adjust=[epochs], steered={"epochs": 5})
    world.settle()
    told = world.child
    world.ask(steered={"epochs": 4})
    world.look()
    assert [each.to for each in world.job.status.adjustments] == [5, 4]
    world.child = told  # the API server refuses what comes after the start
    world.start()
    status = world.job.status
    assert status.started_parameters
    assert status.started_parameters["epochs"] == 5
    assert [(each.before, each.to) for each in status.adjustments] == [(9, 5), (5, 4), (4, 5)]
    assert "Kueue had started it" in status.adjustments[-1].reason
    assert status.columns
    assert (status.columns.adjusted, status.columns.epochs) == ("epochs=5", "0/5")


def test_a_job_in_kueue_that_lost_its_pods_is_tried_again_after_its_pause_with_what_it_was_started_with() -> None:
    world = World(parameters={"epochs": 9}, maxRetries=1)
    world.settle()
    world.start()
    started = world.job.status.started_parameters
    world.seconds, world.pods = 100, (ended(75, PEER_LOST),)
    world.child = world.seen_as(("Failed", "PodFailurePolicy"))
    paused = world.look()
    assert (paused.status.state, world.job.status.attempts[-1].reason) == ("Pending", "PeerLost")
    world.seconds = 109
    assert world.look().wake_at == after(110)
    assert world.created == ["train-1"]
    world.seconds, world.pods = 110, ()
    world.settle()
    assert (world.created, world.job.status.state, world.reason) == (["train-1", "train-2"], "Pending", "WaitsInKueue")
    # It waits there as long as it takes.
    world.seconds = 9999
    world.settle()
    assert world.created == ["train-1", "train-2"]
    world.start()
    assert (world.job.status.state, world.job.status.started_parameters) == ("Running", started)
    assert world.job.status.attempts[-1].start_time == after(9999)


def test_a_job_that_kueue_takes_back_waits_with_the_same_job_and_goes_on_without_a_retry() -> None:
    world = World(parameters={"epochs": 9}, maxRetries=0)
    world.settle()
    world.start()
    started = world.job.status.started_parameters
    assert world.job.status.state == "Running"
    world.preempt()
    alone = world.child
    world.child = queued_child(active=1)
    assert world.look().status.state == "Stopping"
    world.child = alone
    taken = world.look()
    assert (taken.status.state, [note.reason for note in taken.notes]) == ("Pending", ["Preempted"])
    world.seconds = 9999
    world.settle()
    placed = world.job.status.condition("Placed")
    assert placed
    assert (world.reason, placed.status, world.job.status.attempts[-1].queued) == ("WaitsInKueue", "False", True)
    restarted = decide(seen(world.job, 9999, child=world.seen_as(suspend=False)))
    # Pods of before the pause say nothing of those that come.
    assert restarted.actions == (actions.ForgetPods(),)
    world.start()
    assert (world.job.status.state, world.job.status.started_parameters) == ("Running", started)
    assert (world.created, len(world.job.status.attempts)) == (["train-1"], 1)


def test_a_job_whose_workers_left_politely_when_kueue_took_it_back_enters_again_at_once_without_a_fault() -> None:
    world = World(maxRetries=0)
    world.settle()
    world.start()
    world.preempt()
    world.pods = (ended(0, {"state": "stopped", "epochs": 3}),)
    world.child = world.seen_as(("Complete", "CompletionsReached"))
    world.look()
    assert (world.job.status.state, world.job.status.attempts[-1].reason) == ("Pending", "Preempted")
    world.settle()
    assert world.created == ["train-1", "train-2"]


def test_suspending_a_job_that_waits_in_kueue_takes_it_out_and_resuming_hands_it_over_again() -> None:
    world = World()
    world.settle()
    world.ask(suspend=True)
    world.settle()
    suspended = world.job.status.condition("Suspended")
    assert suspended
    assert (world.child, world.job.status.state, suspended.status) == (None, "Suspended", "True")
    assert world.job.status.attempts[-1].reason == "Suspended"
    world.ask(suspend=False)
    world.settle()
    resumed = world.job.status.condition("Suspended")
    assert resumed
    assert (world.created, world.job.status.state, resumed.status) == (["train-1", "train-2"], "Pending", "False")


def test_a_job_that_runs_by_kueue_is_suspended_by_deleting_its_job_once_that_is_said() -> None:
    world = World()
    world.settle()
    world.start()
    world.ask(suspend=True)
    said = world.look()
    assert (said.status.state, said.actions) == ("Stopping", ())
    assert [type(action) for action in world.look().actions] == [actions.Discard]
    assert world.look().status.state == "Stopping"
    world.pods = ()
    assert world.look().status.state == "Suspended"
    assert world.job.status.attempts[-1].reason == "Suspended"


def test_a_gang_that_kueue_started_but_no_node_took_is_deleted_and_handed_over_again_after_a_pause() -> None:
    world = World(startTimeoutSeconds=30, maxRetries=0)
    world.settle()
    world.seconds = 1000
    world.child = world.seen_as(suspend=False)
    world.pods = (pod(state={"waiting": {"reason": "ImagePullBackOff"}}),)
    world.settle()
    world.seconds = 1030
    world.look()
    world.look()
    assert not world.child
    world.pods = ()
    assert world.look().status.attempts[-1].reason == "StartTimeout"
    world.settle()
    assert world.created == ["train-1"]
    world.seconds = 1040
    world.settle()
    assert world.created == ["train-1", "train-2"]


def test_however_often_it_is_handed_over_no_more_attempts_are_kept_than_fit() -> None:
    world = World()
    for _ in range(MOST_ATTEMPTS + 2):
        world.ask(suspend=False)
        world.settle()
        world.ask(suspend=True)
        world.settle()
    assert len(world.job.status.attempts) == MOST_ATTEMPTS
    assert world.job.status.attempts[-1].number == len(world.created) == MOST_ATTEMPTS + 2


def test_the_job_is_kueues_though_the_label_of_what_was_asked_for_is_gone() -> None:
    world = World()
    world.settle()
    world.job = Job({**world.job.manifest, "metadata": {**world.job.manifest["metadata"], "labels": {}}})
    world.settle()
    assert (world.job.status.state, len(world.job.status.attempts)) == ("Pending", 1)


def test_a_job_of_an_attempt_that_is_over_is_deleted_where_it_runs_or_kueue_might_start_it() -> None:
    one = World()
    one.settle()
    waiting = one.job
    past = {
        "suspended by us": child(suspend=True),
        "somebody else's": child(metadata={"ownerReferences": [{"uid": "other"}]}),
        "ended": child(("Complete", "")),
        "left in Kueue": queued_child(number=8),
        "late": child(uid="late", metadata={"name": "train-9"}),
    }
    decision = decide(seen(waiting, child=one.child, past=tuple(past.values())))
    assert decision.actions == (actions.Discard("train-8", "child8", "7"), actions.Discard("train-9", "late", "7"))
