import Testing

@testable import LatchkeyMachine

@Suite(.timeLimit(.minutes(15)))
struct ChildProcessTests {
    @Test func `a child's output is read line by line, and its status at the end`() throws {
        let child = try ChildProcess("/bin/sh", ["-c", "echo one; read line; exit 7"])
        let line = child.output(until: UInt8(ascii: "\n"), withinSeconds: 60)
        #expect(line == Array("one\n".utf8))
        #expect(child.output(withinSeconds: 60) == [], "nothing is there to be read as input")
        #expect(child.end(graceSeconds: 60) == 7)
        #expect(child.end(graceSeconds: 60) == 7, "once more is the same")
    }

    @Test func `a child that says nothing is waited for no longer than it may take`() throws {
        let child = try ChildProcess("/bin/sh", ["-c", "trap '' TERM; echo; while :; do :; done"])
        #expect(child.output(until: UInt8(ascii: "\n"), withinSeconds: 60) != nil)
        #expect(child.output(withinSeconds: 0.01) == nil)
        #expect(child.output(withinSeconds: 60, isInterrupted: { true }) == nil)
        #expect(child.end(graceSeconds: 0.01) == 128 + 9, "killed, since it ignores SIGTERM")
    }

    @Test func `a program that cannot be executed is said at once`() {
        #expect(throws: ChildProcess.StartFailure(reason: "No such file or directory")) {
            _ = try ChildProcess("/no/such/program", [])
        }
    }
}
