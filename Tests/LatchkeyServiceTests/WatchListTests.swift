import Foundation
import LatchkeyHTTP
import LatchkeyJSON
import LatchkeyStore
import Testing

@testable import LatchkeyService
@testable import LatchkeyWatches

/// The list of watches and long polls.
struct WatchListTests {
    private func texts(_ list: WatchList) -> [String] {
        String(decoding: list.json.bytes, as: UTF8.self)
            .split(separator: "{")
            .dropFirst()
            .map { String($0.prefix { $0 != "}" }) }
    }

    @Test func `it says how far each watch is`() {
        let rig = WatchRig()
        rig.put("a/1", "0")
        _ = rig.open(.prefixed("a/"), .now(1), observer: "me")
        rig.run()
        let slow = rig.open(.named("a/1"), .now(1), capacity: 40)
        rig.run()
        rig.put("a/1", "12345")
        rig.put("b", "1")
        rig.run()
        _ = rig.open(.prefixed(""), .place(WatchPlace(revision: 1)))
        rig.pump.wait(
            9,
            WatchWait(
                filter: .name(Array("w".utf8)),
                since: 3,
                deadlineNanoseconds: rig.now + 60_000_000_000,
                visitor: NetworkAddress("192.0.2.7").map {
                    WatchVisitor(address: $0, since: Timestamp(milliseconds: 1_767_225_600_000))
                }
            ) { _ in }
        )
        let list = rig.pump.list(after: 0, countMax: 10)
        #expect(list.count == 4 && !list.hasMore)
        #expect(list.entries.map(\.state) == [.live, .blocked, .behind, .waiting])
        #expect(list.entries.map(\.revision) == [3, 1, 1, 3])
        #expect(list.entries[1].unsentByteCount == slow.unsentByteCount)
        #expect(
            texts(list).last
                == #""id":9,"kind":"poll","prefixes":[],"names":["w"],"address":"192.0.2.7","#
                + #""since":"2026-01-01T00:00:00.000Z","revision":3,"bufferedBytes":0,"#
                + #""state":"waiting""#
        )
        #expect(
            texts(list).first?.hasPrefix(
                #""id":1,"kind":"watch","prefixes":["a/"],"names":[],"observer":"me","revision":3,"#
            ) == true
        )
        rig.pump.gone(slow.id)
        rig.run()
        #expect(rig.pump.list(after: 0, countMax: 10).entries.map(\.id) == [1, 3, 9])
    }

    @Test func `pages have each watch once, and the last one says so`() {
        let rig = WatchRig()
        let ids = (0..<25).map { _ in rig.open(.now(0)).id }
        rig.run()
        for countMax in [1, 7, 24, 25, 26] {
            var (found, after): ([UInt64], UInt64?) = ([], 0)
            while let place = after {
                let list = rig.pump.list(after: place, countMax: countMax)
                #expect(list.entries.count <= countMax && list.count == 25)
                found += list.entries.map(\.id)
                after = list.hasMore ? list.entries.last?.id : nil
            }
            #expect(found == ids)
        }
        #expect(rig.pump.list(after: 25, countMax: 5).entries.isEmpty)
    }
}
