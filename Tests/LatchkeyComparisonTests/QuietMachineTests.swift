import Foundation
import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison
@testable import LatchkeyMachine

/// The wait before a run.
@Suite(.timeLimit(.minutes(15)))
struct QuietMachineTests {
    private let builder = ProcessTimes.Entry(number: 77, name: "swift-build", seconds: 0.4)

    /// The messages while the machine has these loads, one after the other, and how many are read.
    private func wait(
        _ loads: [Double?],
        isInterrupted: () -> Bool = { false }
    ) -> (said: [String], read: Int) {
        var said: [String] = []
        var read = 0
        QuietMachine.wait(
            isInterrupted: isInterrupted,
            load: {
                defer { read += 1 }
                return loads[min(read, loads.count - 1)].map {
                    QuietMachine.Load(processors: $0, busiest: builder, seconds: 0.5)
                }
            },
            say: { said.append($0) }
        )
        return (said, read)
    }

    @Test func `on a quiet machine nothing is said and nothing is waited for`() {
        let found = wait([0.1, 5])
        #expect(found.said.isEmpty && found.read == 1)
    }

    @Test func `a busy machine is waited for, and the busiest process is named`() {
        let found = wait([0.9, 0.8, 0.05])
        #expect(found.read == 3)
        #expect(
            found.said == [
                "Other processes keep 0.90 processors busy, most of all 'swift-build' (process 77, "
                    + "0.80). Waiting up to 30 s for a quiet machine; --force begins at once.",
                "The machine is quiet now.",
            ]
        )
    }

    @Test func `after 30 s the run begins on a busy machine, and it is said`() {
        let found = wait([0.9])
        #expect(Double(found.read) * QuietMachine.windowSeconds == QuietMachine.secondsMax)
        #expect(found.said.count == 2)
        #expect(found.said.last?.hasPrefix("The machine is still busy.") == true)
    }

    @Test func `an interrupt ends the wait, and an unknown load is not waited for`() {
        var asked = 0
        let found = wait([0.9]) {
            asked += 1
            return asked > 2
        }
        #expect(found.read == 2)
        #expect(wait([nil]).said.isEmpty)
    }

    @Test func `a process that computes is the busiest one, and this one does not count`() throws {
        let stranger = Process()
        stranger.executableURL = URL(fileURLWithPath: "/bin/sh")
        stranger.arguments = ["-c", "while :; do :; done"]
        let before = ProcessTimes.now()
        try stranger.run()
        defer { kill(stranger.processIdentifier, SIGKILL) }
        func seconds() -> Double? {
            let others = ProcessTimes.now()
            return others.entries[stranger.processIdentifier]?.seconds
        }
        #expect(eventually { (seconds() ?? 0) >= 0.1 })
        let busiest = try #require(ProcessTimes.now().busiest(since: before))
        #expect(busiest.number != getpid())
        #expect(busiest.seconds > 0)
    }

    @Test func `a name with spaces and parentheses is read whole`() throws {
        let line = "42 (a (b) c) S 1 1 1 0 -1 0 1 2 3 4 150 50 0 0 20 0 1 0 5 0 0"
        let entry = try #require(ProcessTimes.Entry(stat: line))
        #expect(entry.number == 42 && entry.name == "a (b) c")
        #expect(entry.seconds == 200 / Double(sysconf(Int32(_SC_CLK_TCK))))
        #expect(ProcessTimes.Entry(stat: "42 (a") == nil)
        #expect(ProcessTimes.Entry(stat: "") == nil)
    }

    @Test func `time since an earlier moment counts, also of a process that is new`() {
        func times(_ seconds: [Int32: Double]) -> ProcessTimes {
            ProcessTimes(seconds.map { .init(number: $0, name: "p\($0)", seconds: $1) })
        }
        let before = times([1: 100, 2: 5])
        let after = times([1: 100.1, 2: 6, 3: 0.5, 4: 50])
        #expect(after.busiest(since: before, own: 4) == .init(number: 2, name: "p2", seconds: 1))
        #expect(before.busiest(since: before, own: 4) == nil)
        #expect(times([2: 1]).busiest(since: before, own: 4) == nil, "a number given again")
    }
}
