/// An actor as a queue: what is submitted runs in the order of submission.
///
/// **Design.** An access is an immediate task: it runs on the submitting thread until it waits for
/// the actor, so the order is that of submission, all having one priority.
@usableFromInline
struct ActorQueue: HoldableQueue {
    @usableFromInline let isolation = Isolation()
    @usableFromInline let entrants = Entrants()
    @usableFromInline var isConcurrent: Bool { false }

    @inlinable init() {}

    @inlinable
    func submit<Observer: EntryObserver, Result: Sendable>(
        _ observer: Observer,
        _ mode: AccessMode,
        _ completion: @escaping @Sendable (Result) -> Void,
        _ body: @escaping @Sendable () -> Result
    ) {
        let entry = ask(observer, mode)
        Task.immediate(priority: .medium) {
            let result = await isolation.run {
                var entry = entry
                observer.enters(&entry)
                let result = body()
                leave(observer, mode, entry)
                return result
            }
            completion(result)
        }
    }

    @usableFromInline
    func enqueueHold(_ mode: AccessMode, _ entered: @escaping @Sendable () -> Void) {
        Task.immediate(priority: .medium) {
            await isolation.enter()
            entered()
        }
    }

    @usableFromInline
    func release() {
        Task.immediate(priority: .medium) {
            await isolation.leave()
        }
    }
}

/// The actor. It holds nothing of the value, which is in the ``GuardedValue``.
///
/// **Design.** An access that lasts for one call needs nothing but the actor. An access to
/// several values stays inside longer, without blocking a thread: `isTaken` says so, and later
/// accesses wait in `waiting`. An access that leaves lets the first of them in; none overtakes it.
@usableFromInline
actor Isolation {
    @usableFromInline var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    @usableFromInline init() {}

    @inlinable
    func run<Result: Sendable>(_ body: @Sendable () -> Result) async -> Result {
        // Where nobody stays inside, the actor itself excludes everybody until `body` returns.
        guard isTaken else {
            return body()
        }
        await enter()
        defer { leave() }
        return body()
    }

    @usableFromInline
    func enter() async {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        }
        isTaken = true
    }

    @usableFromInline
    func leave() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
