import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The sentence of the re-entry check names the functions that were called, and where.
@Suite(.timeLimit(.minutes(5)))
struct ReentryNameTests {
    @Test(arguments: Function.allCases)
    func `a call inside a write stops with its name`(function: Function) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = function.rawValue as String] in
            let value = Synchronized<Record, AdaptiveStrategy>(Record())
            value.write { _ in Function(rawValue: name)?.call(value) {} }
        }
        let place = function == .value ? "" : Self.place
        #expect(Self.matches(function.rawValue, place, "write", Self.place, result))
    }

    @Test(arguments: Function.allCases.filter { $0.hasBody })
    func `a call around a write stops with its name`(function: Function) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = function.rawValue as String] in
            let value = Synchronized<Record, AdaptiveStrategy>(Record())
            Function(rawValue: name)?.call(value) { value.write { _ in } }
        }
        #expect(Self.matches("write", Self.place, function.rawValue, Self.place, result))
    }

    @Test(arguments: StripedFunction.allCases)
    func `a call for stripes inside itself stops with its name`(function: StripedFunction) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = function.rawValue as String] in
            let values = Striped<Int, AdaptiveStrategy>(count: 1) { $0 }
            let function = StripedFunction(rawValue: name)
            function?.call(values) { function?.call(values) {} }
        }
        let name = function.rawValue
        #expect(Self.matches(name, Self.place, name, Self.place, result))
    }

    /// Every strategy that can be tried, and a pair of functions of which none is a plain access.
    @Test(
        arguments: StrategyKind.allCases.filter { $0.accept(CanBeTried()) },
        [
            ["tryWrite", "write"], ["write", "tryWrite"], ["tryWrite", "readHoldingWriters"],
            ["readHoldingWriters", "tryWrite"],
        ]
    )
    func `a try and another access stop when nested`(kind: StrategyKind, pair: [String]) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String, pair] in
            _ = StrategyKind(rawValue: name)?.accept(Tried(outer: pair[0], inner: pair[1]))
        }
        #expect(Self.matches(pair[1], Self.place, pair[0], Self.place, result, kind))
    }

    @Test(arguments: StrategyKind.allCases.filter(\.traits.blocksCaller))
    func `two accesses that hold writers stop when nested`(kind: StrategyKind) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = kind.rawValue as String] in
            _ = StrategyKind(rawValue: name)?.accept(Holding())
        }
        let name = "readHoldingWriters"
        #expect(Self.matches(name, Self.place, name, Self.place, result, kind))
    }

    /// Without the check of `Synchronized`, as in an unchecked build.
    @Test(arguments: [AccessMode.read, .write])
    func `a read-write lock stops inside a write in every build`(mode: AccessMode) async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = mode.rawValue as String] in
            let lock = ReadWriteLock()
            lock.lock()
            name == "read" ? lock.lockShared() : lock.lock()
        }
        #expect(Self.matches(mode.rawValue, "", "write", "", result, .readWriteLock))
    }

    private static let place = " at LatchkeySyncTests/ReentryNameTests.swift:#"

    /// Whether the message is that of `inner` inside `outer`, whatever the lines.
    private static func matches(
        _ inner: String,
        _ innerPlace: String,
        _ outer: String,
        _ outerPlace: String,
        _ result: ExitTest.Result?,
        _ kind: StrategyKind = .adaptive
    ) -> Bool {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        return text.replacing(#/swift:\d+/#, with: "swift:#").contains(
            """
            Latchkey: \(inner)\(innerPlace) inside \(outer)\(outerPlace) of the same value, \
            guarded by '\(kind.rawValue)'.
            """
        )
    }
}

struct Record: Sendable {
    var count = 0
}

/// An access function of a value.
enum Function: String, CaseIterable {
    case read
    case readDeadline = "read(deadline:)"
    case readWhen = "read(when:)"
    case submitRead
    case tryRead
    case value
    case readHoldingWriters
    case writeDeadline = "write(deadline:)"
    case writeWhen = "write(when:)"
    case submitWrite
    case tryWrite
    case exchange
    case withLock
    case withLockIfAvailable

    private static func always(_ record: Record) -> Bool { true }

    var hasBody: Bool { self != .value && self != .exchange }

    func call(
        _ value: Synchronized<Record, AdaptiveStrategy>,
        _ body: @escaping @Sendable () -> Void
    ) {
        switch self {
        case .read: value.read { _ in body() }
        case .readDeadline: _ = value.read(deadline: .now) { _ in body() }
        case .readWhen: value.read(when: Self.always) { _ in body() }
        case .submitRead: try? value.submitRead({ _ in body() }, completion: {})
        case .value: _ = value.value
        case .readHoldingWriters: value.readHoldingWriters { _ in body() }
        case .writeDeadline: _ = value.write(deadline: .now) { _ in body() }
        case .writeWhen: value.write(when: Self.always) { _ in body() }
        case .submitWrite: try? value.submitWrite({ _ in body() }, completion: {})
        case .tryRead: _ = value.tryRead { _ in body() }
        case .tryWrite: _ = value.tryWrite { _ in body() }
        case .exchange: _ = value.exchange(Record())
        case .withLock: value.withLock { _ in body() }
        case .withLockIfAvailable: _ = value.withLockIfAvailable { _ in body() }
        }
    }
}

/// An access function of stripes.
enum StripedFunction: String, CaseIterable {
    case readKey = "read(key:)"
    case readKeys = "read(keys:)"
    case readAll
    case submitReadAll
    case writeKey = "write(key:)"
    case writeKeys = "write(keys:)"
    case writeSeveral = "write(several:)"
    case submitWriteSeveral = "submitWrite(several:)"

    func call(_ values: Striped<Int, AdaptiveStrategy>, _ body: @escaping @Sendable () -> Void) {
        switch self {
        case .readKey: values.read(key: 1) { _ in body() }
        case .readKeys: values.read(keys: [1]) { _ in body() }
        case .readAll: values.readAll { _ in body() }
        case .submitReadAll: values.submitReadAll({ _ in body() }, completion: {})
        case .writeKey: values.write(key: 1) { _ in body() }
        case .writeKeys: values.write(keys: [1]) { _ in body() }
        case .writeSeveral: values.write(several: [0]) { _ in body() }
        case .submitWriteSeveral:
            try? values.submitWrite(several: [0], { _ in body() }, completion: {})
        }
    }
}

private struct CanBeTried: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool {
        ChosenStrategy.self is any LockingStrategy.Type
    }
}

/// Enters a value by one function and, inside, by another one, of which one is a try.
private struct Tried: StrategyVisitor {
    let outer: String
    let inner: String

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) {
        if let strategy = ChosenStrategy.self as? any (LockingStrategy & MakeableStrategy).Type {
            nest(strategy)
        }
    }

    private func nest<Tried: LockingStrategy & MakeableStrategy>(_ strategy: Tried.Type) {
        let value = Synchronized<Int, Tried>(0)
        func enter(_ name: String, _ body: () -> Void) {
            switch name {
            case "write": value.write { _ in body() }
            case "readHoldingWriters": value.readHoldingWriters { _ in body() }
            default: _ = value.tryWrite { _ in body() }
            }
        }
        enter(outer) { enter(inner) {} }
    }
}

private struct Holding: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) {}

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) {
        let value = Synchronized<Int, ChosenStrategy>(0)
        value.readHoldingWriters { _ in value.readHoldingWriters { _ in } }
    }
}
