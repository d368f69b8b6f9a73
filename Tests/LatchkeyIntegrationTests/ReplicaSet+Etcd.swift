import Foundation
import LatchkeyTestSupport
import Testing

// What tests do with the log in etcd, by its JSON gateway.

extension ReplicaSet {
    private struct Range: Decodable {
        struct Record: Decodable {
            let value: Data
        }

        let kvs: [Record]?
    }

    private var gateway: Site {
        get throws {
            Site(port: try #require(UInt16(etcd.addresses[0].split(separator: ":")[2])))
        }
    }

    /// Has etcd forget the log up to what a replica has executed, once the replica has said in etcd
    /// that its files have it.
    func compactLog(_ site: Site) throws {
        let metrics = try site.ask("GET", "/metrics").text
        let place = Int(try #require(Self.sample("latchkey_cluster_log_place", in: metrics)))
        try Self.eventually("the replica has said where it is") {
            let key = Data("/latchkey/replicas/".utf8).base64EncodedString()
            let end = Data("/latchkey/replicas0".utf8).base64EncodedString()
            let question = #"{"key":"\#(key)","range_end":"\#(end)"}"#
            let answer = try gateway.ask("POST", "/v3/kv/range", question).body
            let records = try JSONDecoder().decode(Range.self, from: Data(answer)).kvs ?? []
            return records.contains {
                String(decoding: $0.value, as: UTF8.self).contains("\"place\":\(place)")
            }
        }
        let body = "{\"revision\":\(place)}"
        #expect(try gateway.ask("POST", "/v3/kv/compaction", body).status == 200)
    }

    /// A sample without labels.
    static func sample(_ name: String, in metrics: String) -> Double? {
        metrics.split(separator: "\n").first { $0.hasPrefix(name + " ") }
            .flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
    }
}
