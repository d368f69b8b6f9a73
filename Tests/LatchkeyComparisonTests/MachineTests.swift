import Dispatch
import Foundation
import Glibc
import LatchkeyMachine
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyComparison

@Suite(.timeLimit(.minutes(15)), .offPool)
struct MutexObservationTests {
    @Test(arguments: [
        ("6", ComparisonReport.MutexObservation.Kind.priorityInheritingFutex),
        ("86", .priorityInheritingFutex), ("8d", .priorityInheritingFutex),
        ("80", .spinningFutex), ("0", .spinningFutex), ("189", .spinningFutex),
    ])
    func `a futex operation says what kind of lock waits in it`(
        operation: String,
        kind: ComparisonReport.MutexObservation.Kind
    ) throws {
        let line = "\(futexCall) 0x7f00 0x\(operation) 0x0 0x0 0x0 0x0 0x7ffd 0x7f01\n"
        let observation = try #require(ComparisonReport.MutexObservation(systemCall: line))
        #expect(observation.kind == kind)
    }

    @Test(arguments: [
        "running", "", "-1 0x0 0x0", "1 0x2 0x80 0x0", "202", "202 0x7f00 0x81", "98 0x7f00 0x81",
    ])
    func `anything else says nothing`(line: String) {
        #expect(ComparisonReport.MutexObservation(systemCall: line) == nil)
    }

    @Test func `the linked Mutex is seen to wait`() async throws {
        let isShown = FileManager.default.isReadableFile(atPath: "/proc/self/syscall")
        try #require(isShown, "This kernel does not show system calls.")
        let observation = await TestThread.result {
            ComparisonReport.MutexObservation.observe(patienceSeconds: Patience.seconds)
        }
        #expect(observation.kind != .unknown, "\(observation)")
    }

    @Test func `a waiter that sleeps in another futex is not taken for the same kind`() async {
        // Control: with a semaphore in the place of the mutex the answer must be FUTEX_WAIT,
        // whatever kind of Mutex is linked.
        let neverSignalled = DispatchSemaphore(value: 0)
        let observation = ComparisonReport.MutexObservation.observe(Patience.seconds) { mutex in
            // It sleeps in the semaphore again and again, until the observer has seen it.
            repeat {
                _ = neverSignalled.wait(timeout: .now() + .milliseconds(500))
            } while mutex.withLockIfAvailable({ _ in }) == nil
        }
        #expect(observation.kind == .spinningFutex, "\(observation)")
    }

    private var futexCall: Int {
        #if arch(x86_64)
        202
        #else
        98
        #endif
    }
}

@Suite struct ConditionsTests {
    private typealias Conditions = ComparisonReport.Conditions

    private func fingerprint(isDebug: Bool, processors: Int) -> ComparisonReport.Fingerprint {
        var fingerprint = ComparisonReport.Fingerprint(
            version: "test",
            mutex: ComparisonReport.MutexObservation(kind: .unknown, evidence: "")
        )
        fingerprint.configuration = isDebug ? "debug" : "release"
        fingerprint.processorsOnline = processors
        return fingerprint
    }

    /// Ten seconds later, on two processors, of which this process used one and a half.
    private func conditions(
        foreign: Double = 0,
        steal: Double = 0,
        throttled: Double = 0,
        isForced: Bool = false,
        isDebug: Bool = false
    ) -> ComparisonReport.Conditions {
        var before = MachineReading()
        before.busySeconds = 100
        before.stealSeconds = 1
        before.ownSeconds = 5
        before.throttledSeconds = 0
        var after = MachineReading()
        after.nanoseconds = 10_000_000_000
        after.busySeconds = 115 + 10 * foreign
        after.stealSeconds = 1 + 20 * steal
        after.ownSeconds = 20
        after.throttledSeconds = throttled
        return Conditions(
            from: before,
            to: after,
            isForced: isForced,
            fingerprint: fingerprint(isDebug: isDebug, processors: 2)
        )
    }

    @Test func `a quiet machine may be ranked`() {
        let found = conditions(foreign: 0.1, steal: 0.01, throttled: 0.05)
        #expect(found.ranking == .allowed)
        #expect(found.findings.isEmpty && found.disturbances.isEmpty)
        #expect(found.foreignProcessors.map { abs($0 - 0.1) < 1e-9 } == true)
    }

    @Test func `a disturbance is told, and refuses nothing`() throws {
        let disturbed = [
            (conditions(foreign: 0.5), "Other processes kept 0.50 processors busy"),
            (conditions(steal: 0.05), "The hypervisor took 5.0 % of the processors' time"),
            (
                conditions(throttled: 0.4),
                "The control group kept this process from running for 0.40 s of 10.00 s"
            ),
        ]
        for (found, sentence) in disturbed {
            #expect(found.ranking == .allowed && found.findings.isEmpty)
            try #require(found.disturbances.count == 1)
            #expect(found.disturbances[0].hasPrefix(sentence), "\(found.disturbances)")
        }
    }

    @Test func `a debug build refuses the ranking, and force keeps the finding`() throws {
        let found = conditions(isDebug: true)
        #expect(found.ranking == .refused)
        #expect(found.findings.count == 1)
        #expect(found.findings[0].hasPrefix("This is a debug build"))
        let forced = conditions(isForced: true, isDebug: true)
        #expect(forced.ranking == .forced && forced.findings == found.findings)
    }

    @Test func `the digits of a figure show that it is above its limit`() {
        let disturbed = [
            (conditions(foreign: 0.1504), "kept 0.1504 processors busy; up to 0.15 is normal."),
            (conditions(steal: 0.0203), "took 2.03 % of the processors' time; up to 2.0 % is "),
            (conditions(throttled: 0.104), "running for 0.104 s of 10.00 s; up to 1.0 % is "),
        ]
        for (found, sentence) in disturbed {
            #expect(found.disturbances.first?.contains(sentence) == true, "\(found.disturbances)")
        }
    }

    @Test func `a load that is not known refuses the ranking`() {
        var (before, after) = (MachineReading(), MachineReading())
        before.nanoseconds = 1
        after.nanoseconds = 1_000_000_001
        let found = Conditions(
            from: before,
            to: after,
            isForced: false,
            fingerprint: fingerprint(isDebug: false, processors: 2)
        )
        #expect(found.ranking == .refused)
        #expect(found.findings.count == 1)
        #expect(found.findings.first?.contains("/proc/stat") == true)
    }

    @Test func `a busy process of somebody else is seen`() throws {
        let stranger = Process()
        stranger.executableURL = URL(fileURLWithPath: "/bin/sh")
        stranger.arguments = ["-c", "i=0; while [ $i -lt 1000000000 ]; do i=$((i+1)); done"]
        let before = MachineReading.now()
        try stranger.run()
        defer {
            kill(stranger.processIdentifier, SIGKILL)
        }
        func conditions() -> Conditions {
            Conditions(
                from: before,
                to: MachineReading.now(),
                isForced: false,
                fingerprint: fingerprint(isDebug: false, processors: 1)
            )
        }
        var found = conditions()
        // On average since the start, so it is seen as soon as it has run for a little.
        let isSeen = eventually {
            found = conditions()
            return (found.foreignProcessors ?? 0) > Conditions.foreignProcessorsMax
        }
        #expect(isSeen)
    }

    @Test func `the kernel's files are read`() {
        var reading = MachineReading()
        reading.read(
            stat: "cpu  100 20 300 4000 50 6 7 80 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
            ticksPerSecond: 100
        )
        #expect(reading.busySeconds == 4.33)
        #expect(reading.stealSeconds == 0.8)
        reading = MachineReading()
        reading.read(stat: "nonsense", ticksPerSecond: 100)
        #expect(reading.busySeconds == nil)
    }
}
