import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The sentence of the re-entry check names the functions that were called, and where.
@Suite(.timeLimit(.minutes(15)))
struct ReentryNameTests {
    @Test(arguments: Function.allCases)
    func `a call inside a write stops with its name`(function: Function) async {
        let exit = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = function.rawValue as String] in
            let value = Synchronized<Record, AdaptiveStrategy>(Record())
            value.write { _ in Function(rawValue: name)?.call(value) {} }
        }
        let isNamed = ReentrySentence(exit).names(
            function.rawValue,
            inside: "write",
            at: #fileID,
            .adaptive,
            innerHasPlace: function != .value
        )
        #expect(isNamed)
    }

    @Test(arguments: Function.allCases.filter { $0.hasBody })
    func `a call around a write stops with its name`(function: Function) async {
        let exit = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = function.rawValue as String] in
            let value = Synchronized<Record, AdaptiveStrategy>(Record())
            Function(rawValue: name)?.call(value) { value.write { _ in } }
        }
        let said = ReentrySentence(exit)
        #expect(said.names("write", inside: function.rawValue, at: #fileID, .adaptive))
    }

    @Test(arguments: StripedFunction.allCases)
    func `a call for stripes inside itself stops with its name`(function: StripedFunction) async {
        let exit = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) { [name = function.rawValue as String] in
            let values = Striped<Int, AdaptiveStrategy>(count: 1) { $0 }
            let function = StripedFunction(rawValue: name)
            function?.call(values) { function?.call(values) {} }
        }
        let name = function.rawValue
        #expect(ReentrySentence(exit).names(name, inside: name, at: #fileID, .adaptive))
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

    @Sendable private static func always(_ record: Record) -> Bool { true }

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
