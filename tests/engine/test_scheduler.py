"""One fair queue: shared runs, one waiting job per session, nothing done for nobody."""

import threading
from collections.abc import Callable

import pytest

from explorer.engine.scheduler import JobTicket, Scheduler
from explorer.errors import Busy, Cancelled

PATIENCE = 10.0  # seconds after which a test is lost


class Workshop:
    """Work that a test holds up and lets go: a key that starts with "held" waits, reporting progress, for ``release``.

    The answer to a key is its capital letters. ``began`` lists the keys in the order in which their work began.
    """

    def __init__(self, *, cost: Callable[[str], float] = len, cache_bytes: int = 1000, max_waiting: int = 50) -> None:
        self.began: list[str] = []
        self.broken: set[str] = set()
        self.noticed, self.may_stop = threading.Event(), threading.Event()
        self.may_stop.set()
        self._released: set[str] = set()
        self._moved = threading.Condition()
        self.scheduler: Scheduler[str, str] = Scheduler(
            self.work, cost=cost, size=len, cache_bytes=cache_bytes, max_waiting=max_waiting
        )

    def work(self, key: str, progress: Callable[[float], None]) -> str:
        with self._moved:
            self.began.append(key)
            self._moved.notify_all()
            while key.startswith("held") and key not in self._released:
                self._moved.wait(0.005)
                try:
                    progress(0.5)
                except Cancelled:
                    self.noticed.set()
                    self.may_stop.wait(PATIENCE)
                    raise
        if key in self.broken:
            raise ArithmeticError(f"{key} is broken")
        return key.upper()

    def release(self, key: str) -> None:
        with self._moved:
            self._released.add(key)
            self._moved.notify_all()

    def hold(self, key: str = "held", session: str = "holder") -> JobTicket[str, str]:
        """Occupy the worker until ``release``."""
        ticket = self.scheduler.submit(key, session)
        self.wait_until_begun(key)
        return ticket

    def wait_until_begun(self, key: str) -> None:
        with self._moved:
            assert self._moved.wait_for(lambda: key in self.began, PATIENCE)


def answer(ticket: JobTicket[str, str]) -> str:
    assert ticket.wait(PATIENCE)
    return ticket.result()


def test_thirty_equal_requests_at_once_share_one_run() -> None:
    shop, start, answers = Workshop(), threading.Barrier(30), []

    def ask(number: int) -> None:
        start.wait()
        answers.append(answer(shop.scheduler.submit("held", f"session {number}")))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    shop.release("held")
    for thread in threads:
        thread.join()
    assert answers == ["HELD"] * 30
    assert shop.began == ["held"]
    assert all(one is answers[0] for one in answers)


def test_a_remembered_answer_is_there_at_once_and_costs_no_run() -> None:
    shop = Workshop()
    assert answer(shop.scheduler.submit("a", "one")) == "A"
    again = shop.scheduler.submit("a", "two")
    assert again.wait(0)
    assert (again.result(), again.fraction, again.ahead) == ("A", 1.0, 0)
    assert shop.began == ["a"]


def test_a_sessions_newer_request_replaces_its_waiting_one() -> None:
    shop = Workshop()
    held = shop.hold()
    older, newer = shop.scheduler.submit("older", "me"), shop.scheduler.submit("newer", "me")
    with pytest.raises(Cancelled):
        answer(older)
    shop.release("held")
    assert answer(newer) == "NEWER"
    assert answer(held) == "HELD"
    assert shop.began == ["held", "newer"]


def test_a_replaced_request_still_runs_for_others_who_wait_for_it() -> None:
    shop = Workshop()
    shop.hold()
    mine, yours = shop.scheduler.submit("shared", "me"), shop.scheduler.submit("shared", "you")
    newer = shop.scheduler.submit("newer", "me")
    shop.release("held")
    assert (answer(yours), answer(newer)) == ("SHARED", "NEWER")
    assert answer(mine) == "SHARED"


def test_leaving_stops_a_running_job_at_its_next_report_and_frees_the_worker() -> None:
    shop = Workshop()
    left = shop.hold()
    left.leave()
    with pytest.raises(Cancelled):
        answer(left)
    assert answer(shop.scheduler.submit("next", "other")) == "NEXT"


def test_leaving_a_waiting_job_keeps_it_from_running() -> None:
    shop = Workshop()
    shop.hold()
    left = shop.scheduler.submit("left", "me")
    left.leave()
    with pytest.raises(Cancelled):
        answer(left)
    last = shop.scheduler.submit("last", "other")
    shop.release("held")
    answer(last)
    assert shop.began == ["held", "last"]


def test_the_second_of_two_who_wait_gets_the_answer_when_the_first_leaves() -> None:
    shop = Workshop()
    first, second = shop.hold(session="first"), shop.scheduler.submit("held", "second")
    first.leave()
    assert not second.wait(0.05)
    shop.release("held")
    assert answer(second) == "HELD"
    assert shop.began == ["held"]


def test_asking_again_for_what_everyone_left_runs_it_anew() -> None:
    shop = Workshop()
    shop.may_stop.clear()
    shop.hold(session="first").leave()
    assert shop.noticed.wait(PATIENCE)
    again = shop.scheduler.submit("held", "second")  # while the run that everyone left is about to stop
    shop.may_stop.set()
    shop.release("held")
    assert answer(again) == "HELD"


def test_a_session_that_always_asks_delays_a_quiet_one_by_one_job_at_most() -> None:
    shop = Workshop(cost=lambda key: 100 if "big" in key else 1)
    shop.hold()
    for number in range(20):
        shop.scheduler.submit(f"big {number}", f"busy {number}")
    quiet = shop.scheduler.submit("small", "quiet")
    assert quiet.ahead == 1  # the held job alone
    shop.release("held")
    answer(quiet)
    assert shop.began.index("small") <= 2


def test_equal_requests_of_equal_cost_are_answered_in_the_order_asked() -> None:
    shop = Workshop(cost=lambda key: 1)
    shop.hold()
    tickets = [shop.scheduler.submit(f"job {number}", f"session {number}") for number in range(10)]
    assert [ticket.ahead for ticket in tickets] == list(range(1, 11))
    shop.release("held")
    assert [answer(ticket) for ticket in tickets] == [f"JOB {number}" for number in range(10)]
    assert shop.began[1:] == [f"job {number}" for number in range(10)]


def test_a_session_that_changed_its_mind_is_not_charged_for_what_never_ran() -> None:
    shop = Workshop(cost=lambda key: 1)
    shop.hold()
    for number in range(10):
        mine = shop.scheduler.submit(f"slider {number}", "me")
    others = [shop.scheduler.submit(f"job {number}", f"session {number}") for number in range(5)]
    shop.release("held")
    for ticket in (mine, *others):
        answer(ticket)
    assert shop.began[1] == "slider 9"


def test_a_full_queue_refuses_the_next_request_and_takes_it_once_there_is_room() -> None:
    shop = Workshop(max_waiting=2)
    shop.hold()
    waiting = [shop.scheduler.submit(f"job {number}", f"session {number}") for number in range(2)]
    with pytest.raises(Busy) as refusal:
        shop.scheduler.submit("one more", "late")
    assert "2 requests" in refusal.value.found
    shop.scheduler.submit("job 0", "late")  # joining is no new work
    replacing = shop.scheduler.submit("instead", "session 1")  # neither is replacing
    shop.release("held")
    assert [answer(waiting[0]), answer(replacing)] == ["JOB 0", "INSTEAD"]
    assert answer(shop.scheduler.submit("one more", "late")) == "ONE MORE"


def test_an_error_reaches_everyone_who_waits_and_is_not_remembered() -> None:
    shop = Workshop()
    shop.broken.add("held")
    tickets = [shop.hold(session="first"), *(shop.scheduler.submit("held", f"session {n}") for n in range(3))]
    shop.release("held")
    for ticket in tickets:
        with pytest.raises(ArithmeticError, match="held is broken"):
            answer(ticket)
    shop.broken.clear()
    assert answer(shop.scheduler.submit("held", "later")) == "HELD"  # and the worker lives


def test_answers_are_remembered_up_to_a_number_of_bytes_oldest_forgotten_first() -> None:
    shop = Workshop(cache_bytes=10)
    for key in ("aaaa", "bbbb", "cccc"):
        answer(shop.scheduler.submit(key, "me"))
    for key in ("cccc", "bbbb"):
        assert shop.scheduler.submit(key, "me").wait(0)
    answer(shop.scheduler.submit("aaaa", "me"))
    assert shop.began == ["aaaa", "bbbb", "cccc", "aaaa"]


def test_an_answer_larger_than_the_memory_is_delivered_and_not_kept() -> None:
    shop = Workshop(cache_bytes=3)
    for _ in range(2):
        assert answer(shop.scheduler.submit("large", "me")) == "LARGE"
    assert shop.began == ["large", "large"]


def test_a_ticket_tells_its_place_and_how_far_its_work_is() -> None:
    shop = Workshop()
    held = shop.hold()
    waiting = shop.scheduler.submit("waiting", "me")
    assert (waiting.ahead, waiting.fraction, waiting.wait(0)) == (1, 0.0, False)
    assert held.ahead == 0
    assert not held.wait(0.05)
    assert held.fraction == 0.5
    shop.release("held")
    assert answer(waiting) == "WAITING"


def test_many_sessions_asking_many_things_at_once_all_get_their_own_answers() -> None:
    shop, wrong = Workshop(), []

    def ask(session: int) -> None:
        for number in range(40):
            key = f"{(session * number) % 23}"
            ticket = shop.scheduler.submit(key, f"session {session}")
            if (session + number) % 7 == 0:
                ticket.leave()
            elif answer(ticket) != key.upper():
                wrong.append(key)

    threads = [threading.Thread(target=ask, args=(session,)) for session in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
