import Dispatch
import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyGuards

/// Accesses and switches that stop at a step while the other one goes on.
@Suite(.offPool, .serialized, .timeLimit(.minutes(15)))
struct PlantedDelayTests {
    static let kinds: [StrategyKind] =
        Depth.isDeep
        ? StrategyKind.allCases
        : [.lock, .serialQueue, .serialQueueAsync, .barrierQueueAsync, .actor, .snapshot]

    @Test(arguments: kinds, Way.allCases)
    func `an access that a switch overtakes is made once`(from: StrategyKind, way: Way) throws {
        for to in Self.kinds where to != from {
            for step in [SharedGuards.Step.loaded, .counted, .chosen] {
                guard way.count == 1 || !from.traits.prefersOneStripe && !to.traits.prefersOneStripe
                else { continue }
                let run = Run(from, way.count)
                let stop = run.stops.plan(step)
                let access = run.thread { run.access(way, number: 1) { stop.isPassed() } }
                if try stop.isReached() {
                    // The switch waits for an access that was counted.
                    let stored = run.stops.plan(.stored)
                    let change = run.thread { run.change(to) }
                    if try stored.isReached() { stored.letGo() }
                    if step == .loaded { try change.ends() }
                    for _ in 0..<100 { sched_yield() }
                    stop.letGo()
                    try change.ends()
                }
                try access.ends()
                run.check(way.writes ? [1] : [], "\(from) to \(to) at \(step)")
            }
        }
    }

    @Test(arguments: kinds.filter(\.traits.appliesWritesAsynchronously))
    func `accepted accesses come before those of the new guard`(from: StrategyKind) throws {
        for to in Self.kinds where to != from {
            for way in [Way.write, .submittedWrite] {
                let (run, isOver) = (Run(from, 1), DispatchSemaphore(value: 0))
                let begins = run.stops.plan(.begins)
                let change = run.thread { run.change(to) }
                #expect(try begins.isReached())
                run.submit(number: 1) { _ = isOver.isSignalled() }
                run.submit(number: 2) {}
                let stored = run.stops.plan(.stored)
                begins.letGo()
                #expect(try stored.isReached())
                let stop = run.stops.plan(.loaded)
                let access = run.thread { run.access(way, number: 3) { stop.isPassed() } }
                #expect(try stop.isReached())
                stop.letGo()
                stored.letGo()
                if to.traits.appliesWritesAsynchronously, way == .submittedWrite {
                    try access.ends()
                    #expect(run.stripes.backlogCount == 3)
                }
                isOver.signal()
                try change.ends()
                try access.ends()
                run.check([1, 2, 3], "\(from) to \(to)")
            }
        }
    }

    @Test(arguments: kinds.filter { !$0.traits.prefersOneStripe })
    func `a transaction over stripes of two kinds is one step`(from: StrategyKind) throws {
        for to in Self.kinds where to != from && !to.traits.prefersOneStripe {
            for step in [SharedGuards.Step.begins, .held, .stored] {
                let run = Run(from, 2)
                let half = run.stops.plan(step, after: 1)
                let change = run.thread { run.change(to) }
                #expect(try half.isReached())
                let stop = run.stops.plan(.loaded, after: 1)
                let access = run.thread { run.access(.several, number: 1) { stop.isPassed() } }
                #expect(try stop.isReached())
                let list = run.thread { run.access(.all, number: 0) {} }
                stop.letGo()
                half.letGo()
                try change.ends()
                try access.ends()
                try list.ends()
                run.check([1], "\(from) to \(to) at \(step)")
            }
        }
    }

    @Test(arguments: [
        (StrategyKind.serialQueueAsync, StrategyKind.barrierQueueAsync),
        (.barrierQueueAsync, .serialQueueAsync),
    ])
    func `two transactions and a switch from queue to queue do not wait in a circle`(
        from: StrategyKind,
        to: StrategyKind
    ) throws {
        let run = Run(from, 2)
        let half = run.stops.plan(.begins, after: 1)
        let change = run.thread { run.change(to) }
        #expect(try half.isReached())
        // The access is counted by the new queue of one stripe and by the old queue of the other.
        let stop = run.stops.plan(.chosen, after: 1)
        let first = run.thread { run.access(.submittedSeveral, number: 1) { stop.isPassed() } }
        #expect(try stop.isReached())
        let stored = run.stops.plan(.stored)
        half.letGo()
        #expect(try stored.isReached())
        stored.letGo()
        try run.thread { run.access(.submittedSeveral, number: 2) {} }.ends()
        stop.letGo()
        try first.ends()
        try change.ends()
        run.check([2, 1], "\(from) to \(to)")
    }

    @Test func `a reader keeps its snapshot, delays no switch, and leaves no version`() throws {
        for to in StrategyKind.allCases where to != .snapshot {
            let isFreed = DispatchSemaphore(value: 0)
            let stripes = Stripes<[Ending]>(count: 1, GuardSettings(.snapshot)) { _ in
                [Ending { isFreed.signal() }]
            }
            let (isInside, leaves) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let found = Guarded(0)
            let reader = Ends {
                let count = stripes.read(0, .here()) { value in
                    isInside.signal()
                    _ = leaves.isSignalled()
                    return value.count
                }
                found.write { $0 = count }
            }
            #expect(isInside.isSignalled())
            #expect(try stripes.switch(to: to) { _ in }.from == .snapshot)
            stripes.write(0, .here(), { $0 = [] }, published: {})
            leaves.signal()
            try reader.ends()
            #expect(found.read { $0 } == 1)
            #expect(try stripes.switch(to: .snapshot) { _ in }.to == .snapshot)
            #expect(stripes.read(0, .here()) { $0.count } == 0)
            #expect(isFreed.isSignalled(), "what \(to) has deleted is freed")
        }
    }

    /// A reader inside any other snapshot of the process keeps versions, too: so it is tried again.
    @Test(arguments: StrategyKind.allCases.filter { $0 != .snapshot })
    func `the first write after a snapshot copies nothing, unless a reader is inside`(
        to: StrategyKind
    ) throws {
        let stripes = Stripes<Buffered>(count: 1, GuardSettings(.snapshot)) { _ in Buffered() }
        let firstWriteIsAlone = {
            _ = try stripes.switch(to: to) { _ in }
            defer { #expect(throws: Never.self) { _ = try stripes.switch(to: .snapshot) { _ in } } }
            return stripes.write(0, .here(), { $0.isAlone() }, published: {})
        }
        try eventually("a first write that copies nothing", firstWriteIsAlone)
        let (isInside, leaves) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let reader = Ends {
            stripes.read(0, .here()) { _ in
                isInside.signal()
                _ = leaves.isSignalled()
            }
        }
        #expect(isInside.isSignalled())
        #expect(try !firstWriteIsAlone(), "the reader has what is written")
        leaves.signal()
        try reader.ends()
        try eventually("a first write that copies nothing", firstWriteIsAlone)
    }

    @Test(arguments: StrategyKind.allCases.filter(\.traits.isReentrant))
    func `a read inside a read goes on while a switch waits`(from: StrategyKind) throws {
        for to in StrategyKind.allCases where to != from {
            let run = Run(from, 1)
            var change: Ends?
            run.stripes.read(0, .here()) { _ in
                // Before the first stripe changes to `snapshot`, all stripes are held.
                let begins = run.stops.plan(.begins, .loaded)
                change = run.thread { run.change(to) }
                #expect((try? begins.isReached()) == true)
                begins.letGo()
                for _ in 0..<100 { sched_yield() }
                #expect(run.stripes.read(0, .here()) { $0.numbers } == [])
            }
            try change?.ends()
            run.check([], "\(from) to \(to)")
        }
    }

    @Test func `a second switch, and the actor of several stripes, are refused`() throws {
        let run = Run(.lock, 2)
        let held = run.stops.plan(.held)
        let change = run.thread { run.change(.ticket) }
        #expect(try held.isReached())
        #expect(throws: SwitchRefusal.underWay) { try run.stripes.switch(to: .spin) { _ in } }
        held.letGo()
        try change.ends()
        #expect(throws: SwitchRefusal.needsOneStripe(.actor, stripeCount: 2)) {
            try run.stripes.switch(to: .actor) { _ in }
        }
        #expect(run.stripes.kind == .ticket)
        var calls: [Bool] = []
        let to = try run.stripes.switch(to: .snapshot) { calls.append($0) }
        #expect(to.duration >= to.longestHold && to.longestHold > .zero)
        let none = try run.stripes.switch(to: .snapshot) { calls.append($0) }
        #expect(none == SwitchReport(from: .snapshot, to: .snapshot))
        _ = try run.stripes.switch(to: .lock) { calls.append($0) }
        #expect(calls == [true, false])
    }
}
