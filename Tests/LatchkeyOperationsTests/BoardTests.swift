import LatchkeyStore
import Testing

@testable import LatchkeyOperations

/// The state machine by itself: no threads and no clock.
struct BoardTests {
    private static let time = Timestamp(milliseconds: 5)

    private static func plan(
        _ id: OperationID,
        after dependencies: [OperationID] = [],
        delay: Duration = .zero,
        byteCount: Int = 10
    ) -> OperationPlan {
        OperationPlan(
            id: id,
            dependencies: dependencies,
            delay: delay,
            steps: [.get("a")],
            source: OwnedBytes([UInt8](repeating: 0x20, count: byteCount))
        )
    }

    private static func board(
        _ limits: OperationLimits = .standard,
        _ plans: [OperationPlan] = []
    ) throws -> OperationBoard {
        var board = OperationBoard(limits: limits)
        for plan in plans { _ = try board.submit([plan], at: time) }
        return board
    }

    private static func states(_ board: OperationBoard, _ ids: OperationID...) -> [OperationState?]
    {
        ids.map { board.operation($0)?.state }
    }

    @Test func `an operation without delay and dependencies is ready at once`() throws {
        var board = try Self.board()
        let (ids, actions) = try board.submit([Self.plan("a")], at: Self.time)
        #expect(ids == ["a"])
        #expect(actions == [.tell("a"), .enqueue("a", .normal)])
        #expect(Self.states(board, "a") == [.ready])
        #expect(board.begin("a", at: Self.time) != nil)
        #expect(Self.states(board, "a") == [.executing])
        #expect(board.begin("a", at: Self.time) == nil, "it begins once")
        #expect(board.end("a", .finished(nil, caught: nil), at: Self.time) == [.tell("a")])
        #expect(Self.states(board, "a") == [.finished])
        #expect(board.operation("a")?.progress == 1)
        let numbers = board.events(of: "a", after: 0)?.map(\.number)
        #expect(numbers == [1, 2, 3, 4])
        #expect(
            board.events(of: "a", after: 1)?.map(\.operation.state)
                == [.ready, .executing, .finished]
        )
    }

    @Test func `a delay and dependencies are both waited for`() throws {
        var board = try Self.board(.standard, [Self.plan("first")])
        let (_, actions) = try board.submit(
            [Self.plan("second", after: ["first", "first"], delay: .seconds(1))],
            at: Self.time
        )
        #expect(actions == [.startTimer("second", .seconds(1))])
        #expect(board.delayIsOver("second") == [])
        #expect(Self.states(board, "second") == [.pending])
        _ = board.begin("first", at: Self.time)
        let ended = board.end("first", .finished(nil, caught: nil), at: Self.time)
        #expect(ended == [.tell("first"), .tell("second"), .enqueue("second", .normal)])
        #expect(board.delayIsOver("second") == [], "a late timer changes nothing")
    }

    @Test func `a failure cancels all that depend on it, one after the other`() throws {
        var board = try Self.board(
            .standard,
            [
                Self.plan("a"), Self.plan("b", after: ["a"]), Self.plan("c", after: ["b"]),
                Self.plan("d", after: ["a"], delay: .seconds(9)), Self.plan("other"),
            ]
        )
        _ = board.begin("a", at: Self.time)
        let actions = board.end("a", .failed(.missingProperty), at: Self.time)
        #expect(
            Self.states(board, "a", "b", "c", "d") == [.failed]
                + Array(repeating: .cancelled, count: 3)
        )
        #expect(actions.contains(.stopTimer("d")))
        #expect(Self.states(board, "other") == [.ready])
        #expect(board.operation("c")?.failureText == "\(OperationFailure.dependency("b"))")
        _ = try board.submit([Self.plan("late", after: ["b"])], at: Self.time)
        #expect(Self.states(board, "late") == [.cancelled], "also when it comes later")
        #expect(board.counts.totalByOutcome == [.failed: 1, .cancelled: 4])
        #expect(board.counts.byState[.ready] == 1)
        #expect(board.counts.byState[.pending] == 0)
    }

    @Test func `a deep chain is cancelled without recursion`() throws {
        var board = try Self.board(OperationLimits(countMax: 20_000))
        _ = try board.submit([Self.plan("0")], at: Self.time)
        for index in 1..<20_000 {
            let id = try #require(OperationID("\(index)"))
            let former = try #require(OperationID("\(index - 1)"))
            _ = try board.submit([Self.plan(id, after: [former])], at: Self.time)
        }
        _ = board.cancel("0", at: Self.time)
        #expect(board.liveCount == 0)
    }

    @Test func `cancelling is immediate before the start, a wish after it, and nothing at the end`()
        throws
    {
        var board = try Self.board(.standard, [Self.plan("a"), Self.plan("b")])
        #expect(board.cancel("a", at: Self.time) == [.tell("a")])
        #expect(Self.states(board, "a") == [.cancelled])
        #expect(board.begin("a", at: Self.time) == nil)
        _ = board.begin("b", at: Self.time)
        #expect(board.cancel("b", at: Self.time) == [.interrupt("b")])
        #expect(board.cancel("b", at: Self.time) == [.interrupt("b")])
        #expect(Self.states(board, "b") == [.executing])
        #expect(board.end("b", .cancelled, at: Self.time) == [.tell("b")])
        #expect(board.cancel("b", at: Self.time) == [])
        #expect(board.cancel("none", at: Self.time) == nil)
    }

    @Test func `a cycle is refused, and nothing of its request is accepted`() throws {
        var board = try Self.board(.standard, [Self.plan("known")])
        for cycle in [
            [Self.plan("a", after: ["a"])],
            [Self.plan("a", after: ["b"]), Self.plan("b", after: ["a"])],
            [
                Self.plan("a", after: ["known"]), Self.plan("b", after: ["d"]),
                Self.plan("c", after: ["b"]), Self.plan("d", after: ["c"]),
            ],
        ] {
            #expect(throws: OperationRefusal.cycle) { try board.submit(cycle, at: Self.time) }
        }
        #expect(Self.states(board, "a", "b", "c", "d") == [nil, nil, nil, nil])
        #expect(throws: OperationRefusal.unknownDependency("x")) {
            try board.submit([Self.plan("a", after: ["x"])], at: Self.time)
        }
        #expect(throws: OperationRefusal.exists("known")) {
            try board.submit([Self.plan("known")], at: Self.time)
        }
        #expect(throws: OperationRefusal.exists("a")) {
            try board.submit([Self.plan("a"), Self.plan("a")], at: Self.time)
        }
        // In one request, an operation may depend on a later one.
        let (ids, _) = try board.submit(
            [Self.plan("b", after: ["a"]), Self.plan("a")],
            at: Self.time
        )
        #expect(ids == ["b", "a"])
        #expect(Self.states(board, "b", "a") == [.pending, .ready])
    }

    @Test func `the number of operations is bounded, and cancelled ones in the queue are too`()
        throws
    {
        var board = try Self.board(OperationLimits(countMax: 2))
        _ = try board.submit([Self.plan("a"), Self.plan("b")], at: Self.time)
        #expect(throws: OperationRefusal.tooMany) {
            try board.submit([Self.plan("c")], at: Self.time)
        }
        _ = board.cancel("a", at: Self.time)
        _ = board.cancel("b", at: Self.time)
        _ = try board.submit([Self.plan("c"), Self.plan("d")], at: Self.time)
        _ = board.cancel("c", at: Self.time)
        #expect(throws: OperationRefusal.tooMany, "the queue still has four") {
            try board.submit([Self.plan("e")], at: Self.time)
        }
        board.leaveQueue()
        _ = try board.submit([Self.plan("e")], at: Self.time)
    }

    @Test func `ended operations are kept up to the bounds, the oldest go first`() throws {
        var board = try Self.board(OperationLimits(historyCountMax: 2, byteCountMax: 100))
        for id: OperationID in ["a", "b", "c"] {
            _ = try board.submit([Self.plan(id)], at: Self.time)
            _ = board.begin(id, at: Self.time)
            _ = board.end(id, .finished(OperationValue("[1234567]"), caught: nil), at: Self.time)
        }
        #expect(board.trim() == [.forget("a")])
        #expect(Self.states(board, "a", "b", "c") == [nil, .finished, .finished])
        // Two values of 9 bytes are there.
        #expect(throws: OperationRefusal.tooManyBytes) {
            try board.submit([Self.plan("d", byteCount: 101)], at: Self.time)
        }
        #expect(Self.states(board, "b") == [.finished], "what is refused forgets nothing")
        let (_, actions) = try board.submit([Self.plan("d", byteCount: 91)], at: Self.time)
        #expect(actions.contains(.forget("b")) && !actions.contains(.forget("c")))
        #expect(throws: OperationRefusal.tooManyBytes) {
            try board.submit([Self.plan("e", after: ["c"])], at: Self.time)
        }
    }

    @Test func `pages begin with the newest and go on where the last one ended`() throws {
        var board = try Self.board(
            .standard,
            ["a", "b", "c", "d", "e"].map { Self.plan($0) }
        )
        _ = board.cancel("d", at: Self.time)
        var page = board.page(state: nil, limit: 2, before: nil)
        #expect(page.operations.map(\.id) == ["e", "d"])
        page = board.page(state: nil, limit: 2, before: page.next)
        #expect(page.operations.map(\.id) == ["c", "b"])
        page = board.page(state: nil, limit: 2, before: page.next)
        #expect(page.operations.map(\.id) == ["a"])
        #expect(page.next == nil)
        page = board.page(state: .ready, limit: 3, before: nil)
        #expect(page.operations.map(\.id) == ["e", "c", "b"])
        #expect(board.page(state: .ready, limit: 3, before: page.next).operations.count == 1)
        #expect(board.page(state: .failed, limit: 3, before: nil).operations.isEmpty)
    }

    @Test func `progress never becomes less, and only the latest is kept`() throws {
        var board = try Self.board(.standard, [Self.plan("a")])
        _ = board.begin("a", at: Self.time)
        _ = board.advance("a", step: 1, stepCount: 2, progress: 0.5)
        _ = board.advance("a", step: 2, stepCount: 4, progress: 0.25)
        let events = try #require(board.events(of: "a", after: 0))
        #expect(events.map(\.kind) == [.state, .state, .state, .progress])
        #expect(events.map(\.number) == [1, 2, 3, 5])
        #expect(events.last?.operation.progress == 0.5)
        #expect(events.last?.operation.stepCount == 4)
    }

    @Test(arguments: ["", ".", "..", "a b", "ä", "a/b", String(repeating: "a", count: 65)])
    func `other texts are no identifiers`(text: String) {
        #expect(OperationID(text) == nil)
        for right in ["aZ0._-", "...", ".a", String(repeating: "a", count: 64)] {
            #expect(OperationID(right)?.text == right)
        }
    }
}
