import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// Places that all clients use.
struct SharedPlacesTests {
    private let clients = (1...5).compactMap { NetworkAddress("10.0.0.\($0)").map(ClientKey.init) }

    @Test func `a client gets its share and no more, and all get no more than there is`() {
        let places = SharedPlaces(countMax: 8, clientCountMax: 2, refusals: ShareRefusals())
        for client in clients[..<4] {
            #expect(places.enter(client) == .entered)
            #expect(places.enter(client) == .entered)
            #expect(places.enter(client) == (client == clients[3] ? .full : .shareTaken))
        }
        #expect(places.count == 8)
        #expect(places.enter(clients[4]) == .full)
        places.leave(clients[0])
        #expect(places.enter(clients[1]) == .shareTaken)
        #expect(places.enter(clients[4]) == .entered)
        #expect(places.enter(clients[0]) == .full)
    }

    @Test func `places that are given back can be taken again, from many threads`() {
        let places = SharedPlaces(countMax: 4, clientCountMax: 2, refusals: ShareRefusals())
        let ended = TestThread.run(4) { number in
            let client = clients[number % 4]
            for _ in 0..<1000 where places.enter(client) == .entered {
                places.leave(client)
            }
        }
        #expect(ended)
        #expect(places.count == 0)
        #expect(places.enter(clients[0]) == .entered)
        #expect(places.enter(clients[0]) == .entered)
        #expect(places.enter(clients[0]) == .shareTaken)
    }
}
