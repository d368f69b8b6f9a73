// Wrong uses of LatchkeySync. Each is on one line, which ends with what the compiler must say about
// it. `run.py` compares.
import LatchkeySync

struct Moved: ~Copyable {}
final class Shared: Sendable {}
final class Unshared { var count = 1 }
struct Holder { let part = Unshared() }

func withoutBody(n: Guarded<Int>, m: Guarded<[String: Int]>) {
    n.write(n)  // error: cannot convert value of type 'Guarded<Int>'
    n.read(n)  // error: cannot convert value of type 'Guarded<Int>'
    n.read(5)  // error: 'read' takes a body
    n.write("five")  // error: cannot convert value of type 'String'
    n.write(5)  // error: 'exchange' replaces the value
    m.read(n)  // error: cannot convert value of type 'Guarded<Int>'
    n.wriet { $0 += 1 }  // error: has no member 'wriet'
    n.exchange("five")  // error: cannot convert value of type 'String'
}

func guardedClosure(handler: Guarded<@Sendable () -> Void>) {
    handler.write { print() }  // error: 'exchange' replaces the value
}

func insideABody(n: Guarded<Int>, m: Guarded<[String: Int]>) {
    n.write { $0 += "five" }  // error: cannot convert value of type 'String'
    m.write { $0["a"] = "five" }  // error: cannot assign value of type 'String'
    m.write { $0.five() }  // error: has no member 'five'
    m.read { $0["a"] = 1 }  // error: '$0' is immutable
    n.write { $0 + 1 }  // warning: result of call to 'write
}

func noSetter(n: Guarded<Int>, property: Property) {
    n.value = 5  // error: 'value' is a get-only property
    property.count += 1  // error: 'count' is a get-only property
}

struct Property {
    @GuardedProperty var count = 1
}

final class WrappedInSendable: Sendable {
    @GuardedProperty var count = 1  // error: is mutable
}

func snapshots() {
    _ = Synchronized<Moved, SnapshotStrategy>(Moved())  // error: needs a value that is copyable
    _ = Synchronized<Shared, SnapshotStrategy>(Shared())  // warning: needs value semantics
    _ = Synchronized<Unshared, SnapshotStrategy>(Unshared())  // error: to the 'Sendable' protocol
}

func values() {
    _ = Synchronized<Moved, ActorStrategy>(Moved())  // error: needs a value that is copyable
    _ = Guarded<Moved>(Moved()).value  // error: that 'Moved' conform to 'Copyable'
}

@Sendable func isThere(_ moved: borrowing Moved) -> Bool { true }

func notCopyable(m: Guarded<Moved>) {
    m.write { $0 = Moved() }  // error: 'withLock'
    m.write(deadline: .now) { $0 = Moved() }  // error: 'withLock'
    m.write(when: isThere) { $0 = Moved() }  // error: 'withLock'
    m.read(deadline: .now) { _ in }  // error: 'withLock'
    m.read(when: isThere) { _ in }  // error: 'withLock'
    m.exchange(Moved())  // error: 'withLock'
    m.tryWrite { $0 = Moved() }  // error: 'withLockIfAvailable'
    m.tryRead { _ in }  // error: 'withLockIfAvailable'
    m.submitWrite({ $0 = Moved() }, completion: {})  // error: 'withLock'
    m.submitRead({ _ in }, completion: {})  // error: 'withLock'
}

func notCopyable(m: Guarded<Moved>) async throws {
    try await m.asyncWrite { $0 = Moved() }  // error: 'withLock'
    try await m.asyncWrite(when: isThere) { $0 = Moved() }  // error: 'withLock'
    try await m.asyncRead { _ in }  // error: 'withLock'
}

func pastTheLock(strategy: AdaptiveStrategy, n: GuardedValue<Int>) {
    n.write { $0 += 1 }  // warning: expression uses unsafe constructs
    n.read { _ in }  // warning: expression uses unsafe constructs
    strategy.reading(n) { _ in }  // warning: expression uses unsafe constructs
    strategy.writing(n) { $0 += 1 }  // warning: expression uses unsafe constructs
}

final class NoLock: RawLock {
    static var rawLockPromise: Promise<NoLock> { .unchecked() }  // warning: expression uses unsafe
    static var traits: StrategyTraits { StrategyTraits() }
    func lock() {}
    func tryLock() -> Bool { true }
    func unlock() {}
}

// The traits of another lock promise nothing for this one, nor does its promise.
final class TraitsOfAnother: RawLock {  // error: does not conform to protocol 'RawLock'
    static var traits: StrategyTraits { AdaptiveLock.traits }
    func lock() {}
    func tryLock() -> Bool { true }
    func unlock() {}
}

final class PromiseOfAnother: RawLock {
    static var rawLockPromise: Promise<PromiseOfAnother> {
        AdaptiveLock.rawLockPromise  // error: cannot convert return expression
    }
    static var traits: StrategyTraits { AdaptiveLock.traits }
    func lock() {}
    func tryLock() -> Bool { true }
    func unlock() {}
}

// A conformance in a place of its own has to promise there.
// swift-format-ignore: AvoidRetroactiveConformances, AllPublicDeclarationsHaveDocumentation
extension MCSLock: @retroactive TimedLock {  // error: does not conform to protocol 'TimedLock'
    public func lock(before deadline: ContinuousClock.Instant) -> Bool { true }
}

final class SilentLock: RawLock {  // error: does not conform to protocol 'RawLock'
    func lock() {}
    func tryLock() -> Bool { true }
    func unlock() {}
}

func locksWithoutALock() {
    _ = LockMemory()  // error: 'LockMemory' initializer is inaccessible
    _ = RawLockStrategy<MonitorLock>.self  // error: does not conform to protocol 'RawLock'
}

// Swift 6.3 says nothing here, nor for `Mutex`. When this test fails, documents can say that the
// compiler finds it.
func leakedReference(n: Guarded<Unshared>, t: Guarded<Holder>) {
    let leaked = n.withLock { $0 }
    leaked.count += 1
    let part = t.withLock { $0.part }
    part.count += 1
}

func pastTheStrategy(strategy: AdaptiveStrategy, request: AccessRequest) {
    strategy.rawLock.unlock()  // error: 'rawLock' is inaccessible
    _ = strategy.hold(request, observer: NoObserver())  // warning: expression uses unsafe
    let wait = { (_: AdaptiveLock, _: () -> Void) in AccessMode?.some(.write) }
    _ = strategy.access(request, observer: NoObserver(), waiting: wait) {}  // warning: unsafe
}

@Sendable func isLarge(_ count: Int) -> Bool { count > 1 }

// Another thread asks the condition.
@MainActor func onTheMainActor(n: Guarded<Int>, main: MainState) {
    let isAbove = { @MainActor (count: Int) in count > main.limit }
    n.write(when: isAbove) { $0 += 1 }  // error: loses global actor 'MainActor'
}

@MainActor final class MainState { var limit = 1 }

// A long wait holds no thread of the pool.
func waitingTask(n: Guarded<Int>) async throws {
    n.write(when: isLarge) { $0 -= 1 }  // error: 'asyncWrite(when:)' does not
    n.read(when: isLarge) { _ in }  // error: 'asyncRead(when:)' does not
    _ = n.write(when: isLarge, deadline: .now) { $0 -= 1 }  // error: 'asyncWrite(when:)' does not
    _ = n.read(when: isLarge, deadline: .now) { _ in }  // error: 'asyncRead(when:)' does not
    try await n.asyncWrite(when: isLarge) { $0 -= 1 }
}

func absent(t: Synchronized<Int, TicketStrategy>, q: Synchronized<Int, SerialQueueStrategy>) {
    t.write(deadline: .now) { $0 += 1 }  // error: cannot wait with a deadline
    q.read(deadline: .now) { _ in }  // error: cannot wait with a deadline
    q.write(when: isLarge) { $0 += 1 }  // error: cannot wait for a condition
    q.read(when: isLarge) { _ in }  // error: cannot wait for a condition
    q.tryWrite { $0 += 1 }  // error: cannot be tried
}

func tasks(a: Synchronized<Int, ActorStrategy>) async throws {
    try await a.asyncWrite(when: isLarge) { $0 += 1 }  // error: cannot wait for a condition
    try a.asyncWrite { $0 += 1 }  // error: is 'async' but is not marked with 'await'
    a.write { $0 += 1 }  // error: requires that 'ActorStrategy' conform to 'BlockingStrategy'
}

func notATask(a: Synchronized<Int, ActorStrategy>) throws {
    try a.asyncWrite { $0 += 1 }  // error: does not support concurrency
}
