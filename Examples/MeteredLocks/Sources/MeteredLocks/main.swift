import Dispatch
import LatchkeyMetering

// Two locks by name, and what they cost.

let locks = LockMeters()
let sessions = locks.metered("sessions", [Int: String]())
let log = locks.metered("log", [String](), strategy: SerialQueueStrategy())

DispatchQueue.concurrentPerform(iterations: 4) { thread in
    for round in 0..<10_000 {
        sessions.write { $0[round] = "thread \(thread)" }
    }
    log.write { $0.append("thread \(thread) has ended") }
}

print(locks.report)
print(locks.prometheus)
