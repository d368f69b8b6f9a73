import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// How a client reacts to calls that fail.
@Suite struct EtcdFailureTests {
    private static func failure(_ code: Int, _ reason: String = "") -> EtcdFailure {
        .status(RPCChannel.Status(code: code, reason: reason))
    }

    @Test(arguments: [
        (2, "no gRPC, but HTTP status 502", EtcdFailureKind.other),
        (4, "no answer in time", .late), (8, "etcdserver: too many requests", .other),
        // As etcd 3.4 says it, and as later versions do.
        (14, "etcdserver: rpc not supported for learner", .unavailable),
        (9, "etcdserver: rpc not supported for learner", .unavailable),
        (14, "TLS: the server refuses: Bad certificate", .denied), (10, "", .other),
        (12, "unknown method", .other), (13, "", .other),
        (15, "etcdserver: corrupt cluster", .corrupt),
        (16, "etcdserver: invalid auth token", .denied), (1, "context canceled", .unavailable),
    ])
    func `a member is left if another one could answer differently`(
        code: Int,
        reason: String,
        kind: EtcdFailureKind
    ) {
        let failure = Self.failure(code, reason)
        #expect(failure.isOfMember && failure.kind == kind)
        #expect(LogAppend(failure) == .unknown(failure.reason))
        #expect(EtcdFailure.invalid.isOfMember && EtcdFailure.stranger("").isOfMember)
    }

    @Test(arguments: [
        (3, "etcdserver: key is not provided", EtcdFailureKind.other),
        (3, "etcdserver: request is too large", .tooLarge), (5, "", .other),
        (3, "etcdserver: user name is empty", .denied),
        (3, "etcdserver: authentication failed, invalid user ID or password", .denied),
        (7, "etcdserver: permission denied", .denied),
        (8, "etcdserver: mvcc: database space exceeded", .full),
        (8, "grpc: received message larger than max (2100014 vs. 2097152)", .tooLarge),
        (8, "a message is too long", .other),
        (9, "etcdserver: authentication is not enabled", .other),
        (11, "etcdserver: mvcc: required revision has been compacted", .other),
    ])
    func `a member is kept if another one would answer the same`(
        code: Int,
        reason: String,
        kind: EtcdFailureKind
    ) {
        let failure = Self.failure(code, reason)
        #expect(!failure.isOfMember && failure.kind == kind)
    }

    @Test func `a watch that ends without the right to read is denied`() {
        let text = "rpc error: code = PermissionDenied desc = etcdserver: permission denied"
        let denied = EtcdFailure(cancelled: text)
        #expect(denied == Self.failure(7, "etcdserver: permission denied"))
        #expect(denied.kind == .denied)
        #expect(EtcdFailure(cancelled: "") == .invalid)
        #expect(EtcdFailure(cancelled: "no leader").reason == "no leader")
    }

    @Test func `the bound of a request is read from what gRPC says`() {
        let refused = "grpc: received message larger than max (2100014 vs. 589824)"
        #expect(Self.failure(8, refused).requestByteCountMax == 65_536)
        let vague = "grpc: received message larger than max"
        #expect(Self.failure(8, vague).requestByteCountMax == nil)
        #expect(Self.failure(14, "vs. 589824").requestByteCountMax == nil)
    }

    @Test func `a refusal stays until the same call is answered`() {
        typealias Call = EtcdTroubles.Call
        let put = Call(use: .log, path: EtcdClient.put)
        let range = Call(use: .log, path: EtcdClient.range)
        let record = Call(use: .record, path: EtcdClient.put)
        var troubles = EtcdTroubles()
        troubles.add(Self.failure(7, "permission denied"), of: put)
        troubles.add(Self.failure(14), of: range)
        troubles.add(Self.failure(11, "required revision has been compacted"), of: range)
        #expect(troubles.byUse == [.log: "permission denied"])
        #expect(troubles.counts == [.denied: 1, .unavailable: 1])
        for other in [range, record] { troubles.remove(other) }
        #expect(troubles.byUse == [.log: "permission denied"])
        troubles.remove(put)
        #expect(troubles.byUse.isEmpty)
        // A log that takes another put is not full any more.
        troubles.add(Self.failure(8, "database space exceeded"), of: put)
        troubles.remove(range)
        #expect(troubles.byUse == [.log: "database space exceeded"])
        troubles.remove(record)
        #expect(troubles.byUse.isEmpty)
        // The failure of one member is over when another member answers.
        troubles.add(Self.failure(13, "a proxy"), of: put)
        #expect(troubles.byUse == [.log: "a proxy"])
        troubles.remove(range)
        #expect(troubles.byUse.isEmpty && troubles.counts[.other] == 1)
    }
}
