import Dispatch
import LatchkeyHTTP
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService
@testable import LatchkeyStore
@testable import LatchkeyWatches

/// Long reads, in turns of their clients.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ClientTurnsTests {
    private let clients = (1...3).compactMap { NetworkAddress("10.0.0.\($0)").map(ClientKey.init) }

    @Test func `each client has its turn, and its own come in their order`() {
        var turns = ClientTurns<String>()
        for number in 0..<4 { turns.append("a\(number)", of: clients[0]) }
        turns.append("b0", of: clients[1])
        turns.append("none", of: nil)
        var order: [String] = []
        while let next = turns.popFirst() {
            order.append(next)
            if next == "a1" { turns.append("c0", of: clients[2]) }
            if next == "c0" { turns.append("b1", of: clients[1]) }
        }
        #expect(order == ["a0", "b0", "none", "a1", "a2", "c0", "a3", "b1"])
        #expect(turns.popFirst() == nil)
    }

    /// Another client's count of nothing took 6.6 s beside those of one address, issue 46.
    @Test func `a read of another client does not wait for all those of one`() {
        let watched = WatchedHistory(.underLock(), Journal(HistoryLimits()))
        let isHeld = DispatchSemaphore(value: 0)
        let order = Synchronized<[Int], LockStrategy>([])
        let arrivals = Arrivals()
        @Sendable func read(_ client: Int, pieces: Int) {
            watched.later(for: clients[client]) {
                order.write { $0.append(client) }
                if pieces > 1 { read(client, pieces: pieces - 1) }
                arrivals.arrive()
            }
        }
        watched.later { isHeld.wait() }
        for _ in 0..<64 { read(0, pieces: 10) }
        read(1, pieces: 1)
        isHeld.signal()
        #expect(arrivals.wait(for: 641))
        #expect(order.read { $0.firstIndex(of: 1) } == 1)
    }
}
