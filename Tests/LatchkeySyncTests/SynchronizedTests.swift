import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// The access functions of a guarded value.
@Suite(.timeLimit(.minutes(15)))
struct SynchronizedTests {
    @Test func `a body's result and error come out with their types`() throws {
        struct Refusal: Error, Equatable {
            let reason: Int
        }
        let value = Synchronized<Int, LockStrategy>(1)
        let text: String = value.read { "\($0)" }
        #expect(text == "1")
        do throws(Refusal) {
            try value.write { _ throws(Refusal) in throw Refusal(reason: 7) }
        } catch {
            #expect(error.reason == 7)
        }
    }

    @Test func `a held lock refuses a try, and its observer does not hear of it`() {
        let value = Synchronized<Int, LockStrategy>(1)
        let observer = RecordingObserver()
        let (inside, leave) = (Gate(), Gate())
        let holder = TestThread {
            value.write { _ in
                inside.open()
                leave.pass()
            }
        }
        inside.pass()
        let observed = value.observed(by: observer)
        #expect(observed.tryWrite { $0 += 1 } == nil)
        #expect(observer.accesses == [])
        leave.open()
        #expect(holder.join())
        #expect(observed.tryWrite { $0 + 1 } == 2)
        #expect(observer.accesses == [[.asks(.write), .enters, .leaves]])
    }

    @Test(arguments: StrategyKind.allCases)
    func `a name leads to the strategy of that name`(kind: StrategyKind) {
        #expect(kind.accept(NameVisitor()) == kind.rawValue)
    }
}

private struct NameVisitor: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> String {
        ChosenStrategy.name
    }
}
