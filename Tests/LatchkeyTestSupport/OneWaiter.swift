public import LatchkeyStrategies

/// Makes one thread wait for a value, while another one is inside.
///
/// `isWaiting` says whether the meter has seen the waiter. False if it never does, or if a thread
/// hangs.
public func oneThreadWaits<ChosenStrategy: BlockingStrategy>(
    for value: Synchronized<Int, ChosenStrategy>,
    _ isWaiting: () -> Bool
) -> Bool {
    let (inside, leave) = (Gate(), Gate())
    let holder = TestThread {
        value.write { _ in
            inside.open()
            leave.pass()
        }
    }
    guard inside.pass() else { return false }
    let waiter = TestThread { value.write { $0 += 1 } }
    let waited = eventually(isWaiting)
    leave.open()
    return holder.join() && waiter.join() && waited
}
