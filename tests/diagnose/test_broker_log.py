"""What the brokers' logs add to a diagnosis: who asked for a removal, or why the coordinator waited no longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.core.events import ClassicHeartbeat, Heartbeat, Refused, Tick
from membership_client.debugger.diagnose import diagnose
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.broker_log import read_broker_logs
from tests.core.classic_play import BEAT_S
from tests.diagnose.test_refusals import late_answer
from tests.diagnose.traces import EPOCH_S, Recorded, RecordedClassic, written

LEFT = "has left group through explicit `LeaveGroup` request; client reason: drained (again)"
SESSION = "fenced from the group because the member session expired."


def removed() -> Recorded:
    """On time with everything, and thrown out."""
    member = Recorded.named("a", group_instance_id="till-1").owning(0).stays_stable(20.0)
    member.advance(5.0)
    member.answer(Heartbeat, Refused(25))
    return member


def removed_classic() -> Recorded:
    member = RecordedClassic.new()
    member.stable(0).advance(BEAT_S)
    member.answer(ClassicHeartbeat, Refused(25))
    return member


def log_line(message: str, time: float, zone: timezone = UTC) -> str:
    """As Kafka's own pattern writes it."""
    date = datetime.fromtimestamp(time, zone).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    coordinator = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0]"
    return f"[{date}] INFO {coordinator} {message} (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"


def fault(member: Recorded, *lines: str, folder: Path) -> Finding:
    """The one fault of the member, with that in the broker's log."""
    log = folder / "server.log"
    log.write_text("[2027-01-15 08:00:00,000] INFO starting (kafka.server.KafkaServer)\n" + "".join(lines))
    (found,) = [f for f in diagnose([member.section()], 2.0, read_broker_logs([log])) if f.kind.is_fault]
    return found


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (removed(), f"[GroupId g] Static member a with instance id till-1 {LEFT}"),
        (removed(), f"[GroupId g] Static member  with instance id till-1 {LEFT}"),
        (removed(), f"[GroupId g] Dynamic member a {LEFT}"),
        (removed_classic(), f"[Group g] Member given {LEFT}"),
        (late_answer(), f"[GroupId g] Dynamic member a {LEFT}"),
    ],
)
def test_the_reason_for_a_removal_is_told(member: Recorded, message: str, tmp_path: Path) -> None:
    """In the words of who asked for it, and for certain; also where the trace alone does not tell what happened."""
    finding = fault(member, log_line(message, EPOCH_S + member.now - 1.0), folder=tmp_path)
    assert (finding.kind, finding.certainty) == (Kind.REMOVED_FROM_OUTSIDE, "certain")
    assert finding.sentence.endswith("the reason given is: drained (again)")
    (line,) = [evidence for evidence in finding.evidence if evidence.path.name == "server.log"]
    assert line.line == 2
    assert message in line.text


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (removed(), f"[GroupId g] Member a {SESSION}"),
        (late_answer(), f"[GroupId g] Member a {SESSION}"),
        (removed_classic(), "Member given in group g has failed, removing it from the group."),
    ],
)
def test_a_session_that_expired_is_no_removal(member: Recorded, message: str, tmp_path: Path) -> None:
    """Whatever it looked like to the member."""
    finding = fault(member, log_line(message, EPOCH_S + member.now - 1.0), folder=tmp_path)
    assert (finding.kind, finding.certainty) == (Kind.THROWN_OUT, "certain")
    assert "because the member session expired" in finding.sentence


@pytest.mark.parametrize(
    ("message", "later_s"),
    [
        (f"[GroupId g] Dynamic member b {LEFT}", -1.0),
        (f"[GroupId other] Dynamic member a {LEFT}", -1.0),
        (f"[GroupId g] Static member b with instance id till-1 {LEFT}", -1.0),
        (f"[GroupId g] Dynamic member a {LEFT}", -120.0),
        (f"[GroupId g] Dynamic member a {LEFT}", 30.0),
    ],
)
def test_what_others_did_or_what_was_at_another_time_is_no_reason(message: str, later_s: float, tmp_path: Path) -> None:
    """Another member, group or holder of the id; long before the member was last counted on; after it knew."""
    member = removed()
    finding = fault(member, log_line(message, EPOCH_S + member.now + later_s), folder=tmp_path)
    assert (finding.kind, finding.certainty) == (Kind.REMOVED_FROM_OUTSIDE, "likely")
    assert "unknown" in finding.sentence
    assert "--broker-log" in finding.advice


def test_a_pause_is_not_blamed_for_what_somebody_else_did(tmp_path: Path) -> None:
    """The member stood still for a moment, which alone would have been the best explanation."""
    member = Recorded.named("a").owning(0).stays_stable(20.0)
    member.now += 9.0
    member.do(Tick())
    member.answer(Heartbeat, Refused(25))
    assert fault(member, folder=tmp_path).kind is Kind.PROCESS_STOPPED
    line = log_line(f"[GroupId g] Dynamic member a {LEFT}", EPOCH_S + member.now - 1.0)
    assert fault(member, line, folder=tmp_path).kind is Kind.REMOVED_FROM_OUTSIDE


def test_the_zone_of_the_brokers_clock_does_not_matter(tmp_path: Path) -> None:
    """Their logs show local time, and do not say which."""
    member, calcutta = removed(), timezone(timedelta(hours=5, minutes=30))
    line = log_line(f"[GroupId g] Dynamic member a {LEFT}", EPOCH_S + member.now - 1.0, calcutta)
    assert fault(member, line, folder=tmp_path).certainty == "certain"


def test_the_nearest_of_several_removals_is_meant(tmp_path: Path) -> None:
    """A member keeps its id when it comes back, and may be removed again."""
    member = removed()
    lines = [
        log_line(f"[GroupId g] Dynamic member a {LEFT}".replace("drained", reason), EPOCH_S + member.now - ago_s)
        for ago_s, reason in ((9.0, "earlier"), (1.0, "now"))
    ]
    assert "now (again)" in fault(member, *lines, folder=tmp_path).sentence


def test_a_line_without_a_date_makes_it_likely(tmp_path: Path) -> None:
    """Then nobody can say whether it was this time."""
    finding = fault(removed(), f"[GroupId g] Dynamic member a {LEFT}\n", folder=tmp_path)
    assert finding.certainty == "likely"
    assert "drained (again)" in finding.sentence


def test_the_commands_take_logs_after_the_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both diagnose and report; one that is not there is a wrong command."""
    member, log, page = removed(), tmp_path / "server.log", tmp_path / "report.html"
    traces = [str(path) for path in written([member.section()], tmp_path)]
    log.write_text(log_line(f"[GroupId g] Dynamic member a {LEFT}", EPOCH_S + member.now))
    assert main(["diagnose", *traces, "--broker-log", str(log)]) == 1
    assert "drained (again)" in capsys.readouterr().out
    assert main(["report", *traces, "--broker-log", str(log), str(log), "-o", str(page)]) == 0
    assert "drained (again)" in page.read_text()
    assert main(["diagnose", *traces, "--broker-log", str(tmp_path / "missing.log")]) == 2
    assert "missing.log" in capsys.readouterr().err
