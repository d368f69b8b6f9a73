import Dispatch
import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyGuards

/// The ways to access stripes.
enum Way: CaseIterable, Sendable {
    case read, submittedRead, write, submittedWrite, several, submittedSeveral, all

    /// The stripes there are.
    var count: Int { self == .several || self == .submittedSeveral || self == .all ? 2 : 1 }
    var writes: Bool { self != .read && self != .submittedRead && self != .all }
}

/// Stripes whose accesses and switches a test stops.
final class Run: Sendable {
    struct Table: Sendable {
        var numbers: [Int] = []
        var balance = 100
    }

    let stops: Stops
    let stripes: Stripes<Table>
    private let pending = DispatchGroup()
    private let failures = Guarded<[String]>([])

    init(_ kind: StrategyKind, _ count: Int) {
        let stops = Stops()
        self.stops = stops
        stripes = Stripes(
            count: count,
            GuardSettings(kind),
            step: { stops.comes($0) },
            value: { _ in Table() }
        )
    }

    func thread(_ body: @escaping @Sendable () -> Void) -> Ends { Ends(body) }

    func change(_ kind: StrategyKind) {
        do throws(SwitchRefusal) {
            _ = try stripes.switch(to: kind) { _ in }
        } catch {
            fail("refused: \(error)")
        }
    }

    /// Writes, and calls `inside` first.
    func submit(number: Int, inside: @escaping @Sendable () -> Void) {
        accepted { [self] () throws(BacklogFull) in
            try stripes.submitWrite(0, .here()) { table in
                inside()
                table.numbers.append(number)
            } published: {
            } completion: {
                [self] in
                pending.leave()
            }
        }
    }

    /// Accesses in this way; `isAsked` is called when the call has returned.
    func access(_ way: Way, number: Int, isAsked: () -> Void) {
        defer { isAsked() }
        let move = { @Sendable (tables: inout [Table]) in
            tables[0].numbers.append(number)
            tables[0].balance -= 1
            tables[1].balance += 1
        }
        switch way {
        case .read: _ = stripes.read(0, .here()) { $0.balance }
        case .write: stripes.write(0, .here(), { $0.numbers.append(number) }, published: {})
        case .several: stripes.write(several: [0, 1], .here(), move, published: {})
        case .submittedWrite: submit(number: number) {}
        case .submittedRead:
            accepted { [self] () throws(BacklogFull) in
                try stripes.submitRead(0, .here(), { $0.balance }) { [self] _ in pending.leave() }
            }
        case .submittedSeveral:
            accepted { [self] () throws(BacklogFull) in
                try stripes.submitWrite(several: [0, 1], .here(), move, published: {}) {
                    [self] in pending.leave()
                }
            }
        case .all:
            accepted { [self] () throws(BacklogFull) in
                stripes.submitRead(several: [0, 1], .here(), sum(\.balance)) {
                    [self] in
                    if $0 != 200 { fail("a list saw half of a transaction") }
                    pending.leave()
                }
            }
        }
    }

    private func accepted(_ submit: () throws(BacklogFull) -> Void) {
        pending.enter()
        do throws(BacklogFull) { try submit() } catch { fail("refused: \(error)") }
    }

    private func fail(_ text: String) { failures.write { $0.append(text) } }

    /// Waits for what was submitted, and compares what was written.
    func check(_ numbers: [Int], _ what: String) {
        let hasEnded = DispatchSemaphore(value: 0)
        pending.notify(queue: .global()) { hasEnded.signal() }
        #expect(hasEnded.isSignalled(), "\(what): an access has no end")
        let found = stripes.write(0, .here(), { $0.numbers }, published: {})
        #expect(found == numbers, "\(what)")
        #expect(failures.read { $0 } == [], "\(what)")
        #expect(stripes.backlogCount == 0, "\(what): a backlog is left")
    }
}

/// A thread that ends.
final class Ends: Sendable {
    private let isOver = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [isOver] in
            body()
            isOver.signal()
        }
    }

    /// Can be asked more than once.
    func ends() throws {
        guard isOver.isSignalled() else { throw NeverCame("a thread's end") }
        isOver.signal()
    }
}

/// Tells when it is freed.
final class Ending: Sendable {
    private let isFreed: @Sendable () -> Void

    init(_ isFreed: @escaping @Sendable () -> Void) { self.isFreed = isFreed }

    deinit { isFreed() }
}

/// A value whose buffer a writer copies if another one has it.
struct Buffered: Sendable {
    private final class Buffer: Sendable {}

    private var buffer = Buffer()

    mutating func isAlone() -> Bool { isKnownUniquelyReferenced(&buffer) }
}
