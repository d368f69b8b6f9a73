import LatchkeySync
import LatchkeyTestSupport
import Testing

/// A pool of connections for tasks, as `AsyncFunctions.md` has it.
private final class Pool: Sendable {
    private let free: Guarded<[Int]>
    private let entered = Arrivals()

    init(count: Int) {
        free = Guarded(Array(0..<count))
    }

    var freeCount: Int { free.read { $0.count } }

    /// How often a task has looked for a connection.
    var lookCount: Arrivals { entered }

    func with<Result: Sendable>(
        _ body: @Sendable (Int) async throws -> Result
    ) async throws -> Result {
        let connection = try await free.asyncWrite(
            when: { [entered] free in
                entered.arrive()
                return !free.isEmpty
            },
            { $0.removeLast() }
        )
        defer { free.write { $0.append(connection) } }
        return try await body(connection)
    }
}

@Suite(.timeLimit(.minutes(15)))
struct ConnectionPoolTests {
    /// On the threads of the pool, which are as few as there are processors.
    @Test func `many tasks share two connections, issue 46`() async throws {
        let pool = Pool(count: 2)
        let inUse = Guarded<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await pool.with { connection in
                        let isAlone = inUse.write { inUse in
                            defer { inUse.append(connection) }
                            return !inUse.contains(connection)
                        }
                        #expect(isAlone)
                        await Task.yield()
                        inUse.write { $0.removeAll { $0 == connection } }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(pool.freeCount == 2)
    }

    @Test func `a task that is cancelled leaves the line, and others get the connection`()
        async throws
    {
        let pool = Pool(count: 1)
        let waiting = try await pool.with { _ in
            let waiting = (0..<3).map { _ in Task { try await pool.with { _ in } } }
            // The holder has looked, too.
            #expect(await TestThread.result { pool.lookCount.wait(for: 4) })
            waiting[0].cancel()
            #expect(await waiting[0].result.isCancelled)
            return waiting
        }
        for task in waiting[1...] {
            try await task.value
        }
        #expect(pool.freeCount == 1)
    }
}

extension Result<Void, any Error> {
    fileprivate var isCancelled: Bool {
        if case .failure(let error) = self { error as? AccessRefused == .cancelled } else { false }
    }
}
