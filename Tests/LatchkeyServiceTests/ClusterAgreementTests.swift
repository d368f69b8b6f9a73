import LatchkeyReplication
import LatchkeySettings
import LatchkeyStore
import Testing

@testable import LatchkeyReplicas
@testable import LatchkeyService

/// The settings that replicas of a cluster share, also with those of version 0.1.
@Suite struct ClusterAgreementTests {
    /// The agreement that a replica of 0.1 with all defaults has written, but for these values.
    private func written(
        _ changes: [String: String?] = [:],
        format: Int = 1
    ) throws -> ClusterAgreement {
        var settings: [String: String] = [
            "eviction": "refuse", "idempotency-bytes": "67108864", "idempotency-seconds": "600",
            "max-body-bytes": "1048576", "max-bytes": "1073741824",
            "max-idempotency-keys": "100000", "max-json-depth": "64",
            "max-properties": "10000000", "max-transaction-bytes": "4194304", "quota": "none",
        ]
        for (name, value) in changes { settings[name] = value }
        let members = settings.sorted { $0.key < $1.key }.map { #""\#($0)":"\#($1)""# }
        let inner = members.joined(separator: ",")
        let text = #"{"format":\#(format),"settings":{\#(inner)},"start":7}"#
        return try #require(ClusterAgreement(decoding: Array(text.utf8)))
    }

    private func own(limits: String? = nil, etcd: UInt64? = nil) throws -> ClusterAgreement {
        var configuration = ServiceConfiguration()
        configuration.startRevision = 7
        if let limits { try configuration.set(limits, of: ServiceConfiguration.limits) }
        return ClusterAgreement(configuration, etcd: etcd)
    }

    @Test func `a cluster of 0.1 with the constants is joined`() throws {
        #expect(try written().objection(to: own()) == nil)
    }

    @Test func `a replica that knows the first rules alone writes what 0.1 writes`() throws {
        let own = try own(limits: "rule-level=1")
        #expect(own == (try written()))
        #expect(try written().encoded == own.encoded)
    }

    @Test func `the agreement is raised before the rules, and keeps what the log begins with`()
        throws
    {
        let (old, own) = (try own(limits: "rule-level=1"), try own())
        let raised = try written().raised(to: .second)
        #expect(try raised == written(format: 2) && !(try written().needs(.second)))
        #expect(raised.needs(.second) && raised.firstRules == .first)
        #expect(raised.objection(to: own) == nil)
        #expect(
            raised.objection(to: old)
                == "The cluster has format 2 of its settings, and this program 1."
        )
        #expect(
            try written(format: 3).objection(to: own)
                == "The cluster has format 3 of its settings, and this program 2."
        )
        // A new cluster begins with the latest ones.
        let new = try #require(ClusterAgreement(decoding: own.encoded))
        #expect(new == own && new.needs(.second) && new.firstRules == .second)
        #expect(new.objection(to: own) == nil && new.objection(to: old) != nil)
    }

    @Test func `a new cluster says its etcd and its life, but not to replicas of the first rules`()
        throws
    {
        let new = try own(etcd: 0xCDF8_1819_4E3A_8C32)
        let text = String(decoding: new.encoded, as: UTF8.self)
        #expect(text.contains(#""etcd":"cdf818194e3a8c32""#) && text.contains(#""life":1"#))
        #expect(!text.contains("created"))
        #expect(new.log == LogIdentity(etcd: 0xCDF8_1819_4E3A_8C32))
        let old = try own(limits: "rule-level=1", etcd: 7)
        #expect(try old.encoded == written().encoded)
        #expect(old.log == nil && old.life == nil)
    }

    @Test func `an agreement without a log gets it when the rules are raised, and its first entry`()
        throws
    {
        let old = try written()
        #expect(old.completed(by: LogIdentity(etcd: 7, created: 3)) == old)
        let raised = old.raised(to: .second).completed(by: LogIdentity(etcd: 7))
        #expect(raised.log == LogIdentity(etcd: 7) && raised.life == 1)
        let whole = raised.completed(by: LogIdentity(etcd: 7, created: 3))
        #expect(whole.log == LogIdentity(etcd: 7, created: 3))
        // The parts that it has stay.
        #expect(whole.completed(by: LogIdentity(etcd: 7, created: 4)) == whole)
        #expect(raised.completed(by: LogIdentity(etcd: 8, created: 4)) == raised)
        #expect(whole.objection(to: try own(etcd: 8)) == nil)
        #expect(ClusterAgreement(decoding: whole.encoded) == whole)
    }

    @Test func `an etcd that goes on from a backup has the next life, and the same first entry`()
        throws
    {
        let former = try own().completed(by: LogIdentity(etcd: 7, created: 3))
        let adopted = former.adopted(by: 8)
        #expect(adopted.log == LogIdentity(etcd: 8, created: 3) && adopted.life == 2)
        #expect(adopted.adopted(by: 9).life == 3)
        #expect(adopted.start == former.start && adopted.settings == former.settings)
    }

    @Test func `an agreement with an etcd that is no number is invalid`() throws {
        let text = #"{"etcd":"x","format":2,"settings":{},"start":7}"#
        #expect(ClusterAgreement(decoding: Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        ("max-transaction-bytes", "1000", "4194304"), ("max-idempotency-keys", "8", "100000"),
    ])
    func `a cluster of 0.1 with another limit is not joined`(
        name: String,
        value: String,
        constant: String
    ) throws {
        let objection = try written([name: value]).objection(to: own())
        #expect(
            objection == "All replicas need the same \(name): it is \(value) in the cluster, and "
                + "\(constant) here, where no flag sets it. docs/cluster.md says how to change the "
                + "cluster's."
        )
    }

    @Test func `replicas with limits of a test need the same`() throws {
        let limits = "max-idempotency-keys=4"
        #expect(try own(limits: limits).objection(to: own(limits: limits)) == nil)
        #expect(try own(limits: limits).objection(to: own()) != nil)
        // This one decides about no change.
        #expect(try own(limits: "max-exports=1").objection(to: own()) == nil)
    }

    @Test func `all that differs is named`() throws {
        let objection = try written([
            "max-bytes": "5", "max-idempotency-keys": "8", "eviction": "lru",
        ]).objection(to: own())
        #expect(
            objection == "All replicas need the same --eviction: it is lru in the cluster, and "
                + "refuse here. Others that differ: --max-bytes, max-idempotency-keys."
        )
    }

    @Test func `a name that only one side has is not known at the other`() throws {
        let more = try written(["max-later": "1"]).objection(to: own())
        #expect(more?.contains("--max-later: it is 1 in the cluster, and not known here.") == true)
        let less = try written(["quota": nil]).objection(to: own())
        #expect(less?.contains("it is not known in the cluster, and none here.") == true)
    }
}
