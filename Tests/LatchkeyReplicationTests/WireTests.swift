import LatchkeyProtobuf
import LatchkeyStore
import Testing

@testable import LatchkeyReplication

/// Messages of Protocol Buffers and of etcd.
struct WireTests {
    /// The examples of the format's own page, and protoc's output for others.
    @Test func `messages are written as others write them`() {
        #expect(ProtobufWriter.message { $0.add(1, 150) } == [0x08, 0x96, 0x01])
        #expect(
            ProtobufWriter.message { $0.add(2, Array("testing".utf8)) }
                == [0x12, 0x07] + Array("testing".utf8)
        )
        #expect(
            ProtobufWriter.message { $0.add(3) { $0.add(1, 150) } }
                == [0x1A, 0x03, 0x08, 0x96, 0x01]
        )
        #expect(ProtobufWriter.message { $0.add(1, 0) } == [])
        #expect(ProtobufWriter.message { $0.add(1) { _ in } } == [0x0A, 0x00])
        #expect(
            ProtobufWriter.message { $0.add(1, UInt64.max) }
                == [0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
        )
        #expect(ProtobufWriter.message { $0.add(2, -1) }.count == 11)
        let packed = ProtobufWriter.message { $0.add(3, packed: [0, 1, 128]) }
        #expect(packed == [0x1A, 0x04, 0x00, 0x01, 0x80, 0x01])
        #expect(ProtobufWriter.message { $0.add(16, element: []) } == [0x82, 0x01, 0x00])
    }

    @Test func `requests of etcd are those of its client`() {
        let key = Array("k".utf8)
        #expect(EtcdRequest.put(key, [1]) == [0x0A, 1, 0x6B, 0x12, 1, 1])
        #expect(
            EtcdRequest.range(key, isPrefix: true, isKeysOnly: true)
                == [0x0A, 1, 0x6B, 0x12, 1, 0x6C, 0x40, 1]
        )
        #expect(EtcdRequest.watch(key, from: 7) == [0x0A, 7, 0x0A, 1, 0x6B, 0x18, 7, 0x40, 1])
        #expect(EtcdRequest.end(ofPrefix: [0x61, 0xFF]) == [0x62])
        #expect(EtcdRequest.end(ofPrefix: [0xFF]) == [0])
    }

    @Test func `fields that are not known are left out, and what is no message is found`() throws {
        let unknown = ProtobufWriter.message { message in
            message.add(9, 1)
            message.add(2) { value in
                value.add(1, [0x6B])
                value.add(3, 5)
                value.add(77, [1, 2, 3])
            }
        }
        // Fields of four and of eight bytes, which nothing here has.
        let fixed: [UInt8] = [0x3D, 1, 2, 3, 4, 0x41, 1, 2, 3, 4, 5, 6, 7, 8]
        let answer = try EtcdAnswer((unknown + fixed)[...], .range)
        #expect(answer.values.count == 1 && answer.values[0].modified == 5)
        for broken: [UInt8] in [
            [0x08], [0x12, 5, 1], [0x0B], [0x00, 1], [0x3D, 1, 2], [0x12, 0xFF, 0xFF],
            [0x08] + Array(repeating: 0xFF, count: 10),
        ] {
            #expect(throws: ProtobufReader.InvalidMessage.self) {
                try EtcdAnswer(broken[...], .range)
            }
        }
    }

    @Test func `a watch tells what was put and deleted, and that it ends`() throws {
        let message = ProtobufWriter.message { message in
            message.add(1) { header in
                header.add(1, UInt64.max)
                header.add(3, 12)
            }
            message.add(11) { event in
                event.add(2) { value in
                    value.add(1, [0x6B])
                    value.add(2, 7)
                    value.add(3, 11)
                    value.add(5, [1, 2])
                }
            }
            message.add(11) { event in
                event.add(1, 1)
                event.add(2) { $0.add(3, 12) }
            }
        }
        let answer = try EtcdWatchAnswer(message[...])
        #expect(answer.header.cluster == .max && answer.header.revision == 12)
        #expect(answer.events.map(\.isDeletion) == [false, true])
        let values = answer.events.map(\.value)
        #expect(values.map(\.modified) == [11, 12] && values.map(\.created) == [7, 0])
        #expect(values[0].value == [1, 2] && !answer.isCancelled)
        let end = ProtobufWriter.message { message in
            message.add(4, true)
            message.add(5, 90)
        }
        let ended = try EtcdWatchAnswer(end[...])
        #expect(ended.isCancelled && ended.compacted == 90)
        let reason = "rpc error: code = PermissionDenied desc = etcdserver: permission denied"
        let refusal = ProtobufWriter.message { message in
            message.add(3, true)
            message.add(4, true)
            message.add(6, Array(reason.utf8))
        }
        let refused = try EtcdWatchAnswer(refusal[...])
        #expect(refused.isCancelled && refused.reason == reason)
    }

    @Test(arguments: [
        ("http://a", "a", 2379, false), ("https://a.b:1/", "a.b", 1, true),
        ("http://[::1]:3", "::1", 3, false), ("https://[fe80::1]", "fe80::1", 2379, true),
    ])
    func `addresses are read`(
        text: String,
        host: String,
        port: UInt16,
        isEncrypted: Bool
    ) throws {
        let server = try #require(EtcdServer(text))
        #expect(server.host == host && server.port == port && server.isEncrypted == isEncrypted)
    }

    @Test(arguments: [
        "", "a", "ftp://a", "http://", "http://a:0", "http://a:x", "http://a/b", "http://a b",
        "http://[::1", "http://[::1]x", "http://a:1:2", "http://u@a", "http://a:99999",
    ])
    func `an invalid address is refused`(text: String) {
        #expect(EtcdServer(text) == nil)
    }
}
