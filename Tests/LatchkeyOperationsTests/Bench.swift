import Foundation
import LatchkeyGuards
import LatchkeyJSON
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport

@testable import LatchkeyOperations

/// Operations over a store of their own, whose clock stands still until a test moves it.
final class Bench: Sendable {
    let store: PropertyStore
    let operations: Operations
    let clock: ManualOperationClock

    init(
        limits: OperationLimits = .standard,
        fetching: FetchLimits = .standard,
        compare: OperationEnvironment.Compare? = nil
    ) {
        let store = PropertyStore(
            limits: StoreLimits(),
            stripeCount: 4,
            guards: GuardSettings(.lock)
        )
        let clock = ManualOperationClock()
        self.store = store
        self.clock = clock
        operations = Operations(
            limits: limits,
            OperationEnvironment(
                look: { (name, completion) throws(BacklogFull) in
                    try store.look(name, in: .live, .here(), completion: completion)
                },
                commit: { (change, _, completion) throws(BacklogFull) in
                    try store.commit(change, .here(), completion: completion)
                },
                clock: clock.clock,
                fetching: fetching,
                compare: compare,
                describe: { Array("\"\($0)\"".utf8) }
            )
        )
    }

    /// Submits one plan and returns its identifier.
    @discardableResult
    func submit(_ plan: OperationPlan) throws -> OperationID {
        try operations.submit([plan])[0].id
    }

    /// Waits until the operation has ended.
    func end(of id: OperationID) throws -> OperationSnapshot {
        try state(of: id) { $0.state.isFinal }
    }

    /// Waits until the operation is as it is asked for.
    func state(
        of id: OperationID,
        _ isReached: @escaping @Sendable (OperationSnapshot) -> Bool
    ) throws -> OperationSnapshot {
        let news = DispatchSemaphore(value: 0)
        let stop = operations.observe(id) { news.signal() }
        defer { stop() }
        while true {
            guard let now = operations.operation(id) else { throw Missing() }
            if isReached(now) { return now }
            guard news.isSignalled() else { throw TooLate() }
        }
    }

    func value(_ name: String) -> String? {
        let found = Synchronized<String?, LockStrategy>(nil)
        try? store.look(Self.name(name), in: .live, .here()) { property in
            let text = property.map { unsafe String(decoding: $0.valueBytes, as: UTF8.self) }
            found.write { $0 = text }
        }
        return found.read { $0 }
    }

    static func name(_ text: String) -> PropertyName {
        let owner = OwnedBytes(Array(text.utf8))
        guard let name = try? unsafe PropertyName(borrowing: owner.bytes, owner: owner) else {
            preconditionFailure("\(text) is a name.")
        }
        return name
    }
}

extension OperationSnapshot {
    /// The failure as text; "-" without one.
    var failureText: String { failure.map { "\($0)" } ?? "-" }
}

struct Missing: Error {}
struct TooLate: Error {}

/// A clock whose timers call when a test says that their time has come.
final class ManualOperationClock: Sendable {
    private struct Contents {
        var now: Int64 = 1_000
        var timers: [Int: (due: Int64, body: @Sendable () -> Void)] = [:]
        var count = 0
    }

    private let contents = Synchronized<Contents, LockStrategy>(Contents())
    private let hasStarted = DispatchSemaphore(value: 0)

    var clock: OperationClock {
        OperationClock(now: { self.now }, after: { self.start($0, $1) })
    }

    private func start(
        _ delay: Duration,
        _ body: @escaping @Sendable () -> Void
    ) -> OperationTimer {
        let key = contents.write { contents in
            contents.count += 1
            let due = contents.now + Int64(delay / .milliseconds(1))
            contents.timers[contents.count] = (due, body)
            return contents.count
        }
        hasStarted.signal()
        return OperationTimer { [contents] in
            contents.write { _ = $0.timers.removeValue(forKey: key) }
        }
    }

    var now: Timestamp { contents.read { Timestamp(milliseconds: $0.now) } }
    var timerCount: Int { contents.read { $0.timers.count } }

    /// Waits until an operation has started a timer: its step has begun some time before.
    ///
    /// Each timer counts for one wait.
    func awaitTimer() throws {
        guard hasStarted.isSignalled() else { throw TooLate() }
    }

    func advance(by milliseconds: Int64) {
        let due = contents.write { contents in
            contents.now += milliseconds
            let now = contents.now
            let due = contents.timers.filter { $0.value.due <= now }
            for key in due.keys { contents.timers[key] = nil }
            return due.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
        }
        for timer in due { timer.value.body() }
    }
}

extension OperationValue {
    init(_ text: String) {
        self.init(Array(text.utf8))
    }

    var text: String { unsafe String(decoding: bytes, as: UTF8.self) }
}

/// Steps that are read as a client would write them.
///
/// Their texts are never freed.
extension OperationStep {
    static func put(_ name: String, _ value: String?) -> Self {
        change(#"{"put":"\#(name)","value":\#(value ?? "null")}"#, takesPrevious: value == nil)
    }

    static func merge(_ name: String, _ patch: String?) -> Self {
        change(#"{"merge":"\#(name)","patch":\#(patch ?? "null")}"#, takesPrevious: patch == nil)
    }

    static func get(_ name: String) -> Self { change(#"{"get":"\#(name)"}"#) }
    static func delete(_ name: String) -> Self { change(#"{"delete":"\#(name)"}"#) }
    static func touch(_ name: String) -> Self { change(#"{"touch":"\#(name)","ttl":60}"#) }
    static func increment(_ name: String) -> Self { change(#"{"increment":"\#(name)"}"#) }

    static func lines(_ value: String?) -> Self {
        .importing(value.map { OperationValue($0) })
    }

    static func transaction(_ text: String) -> Self {
        let source = unsafe Unmanaged.passRetained(OwnedBytes(Array(text.utf8)))
        let json = unsafe JSONView(source.takeUnretainedValue().bytes)
        guard let transaction = try? Transaction(json) else {
            preconditionFailure("\(text) is a transaction.")
        }
        return .transaction(transaction)
    }

    private static func change(_ text: String, takesPrevious: Bool = false) -> Self {
        let source = unsafe Unmanaged.passRetained(OwnedBytes(Array(text.utf8)))
        let json = unsafe JSONView(source.takeUnretainedValue().bytes)
        guard let step = try? Change.Step(json) else {
            preconditionFailure("\(text) is a step.")
        }
        return .change(step, takesPrevious: takesPrevious)
    }
}

extension OperationID: ExpressibleByStringLiteral {
    /// Makes an identifier of a right text.
    public init(stringLiteral text: String) {
        guard let id = OperationID(text) else { preconditionFailure("\(text) is an identifier.") }
        self = id
    }
}
