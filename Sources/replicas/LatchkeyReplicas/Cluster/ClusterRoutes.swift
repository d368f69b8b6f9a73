package import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The route with what the service knows of the other replicas, or of its leader.
package struct ClusterRoutes: Sendable {
    /// Nil unless the service is a replica of a cluster.
    let cluster: Cluster?
    /// Nil unless the service was started to follow another one.
    let follow: FollowState?

    package init(cluster: Cluster?, follow: FollowState?) {
        (self.cluster, self.follow) = (cluster, follow)
    }

    package func add(to table: inout RouteTable) {
        table.add(.get, "/v1/cluster", .local, needs: .token, statuses: [200, 400]) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            var json = JSONWriter()
            json.object { json in
                if let cluster { cluster.write(to: &json) }
                if let follow { follow.write(to: &json) }
            }
            request.respond(json: json)
        }
    }
}

extension Cluster {
    /// Writes the current state of this replica, and the last records of the others.
    fileprivate func write(to json: inout JSONWriter) {
        let now = StoreClock.system.now().milliseconds
        let (level, own) = (state.age.level, ownRecord)
        var records = state.records
        if let (identity, record) = own { records[identity] = record }
        json.object("cluster") { json in
            json.member("name", state.name)
            json.member("ageSeconds", raw: level.ageText)
            if let rules { json.member("rules", UInt64(rules.rawValue)) }
            if let etcd { json.member("etcd", etcd.hexadecimal) }
            if let life = agreement.read({ $0?.life }) { json.member("life", life) }
            json.array("replicas") { json in
                for (identity, record) in records.sorted(by: { $0.key < $1.key }) {
                    json.object { json in
                        json.member("id", identity)
                        json.member("isThis", identity == own?.identity)
                        if !record.url.isEmpty { json.member("url", record.url) }
                        json.member("state", record.state)
                        json.member("revision", record.revision)
                        json.member("storedPlace", record.place)
                        let known = record.format ?? RuleLevel.first.rawValue
                        json.member("knownRules", UInt64(known))
                        json.member("isFull", record.isFull == true)
                        let age = UInt64(max(0, now &- record.time))
                        json.member("noteSeconds", raw: StateAge.secondsText(milliseconds: age))
                    }
                }
            }
        }
    }
}

extension FollowState {
    fileprivate func write(to json: inout JSONWriter) {
        let now = reading
        json.object("following") { json in
            json.member("leader", leader)
            json.member("state", now.word)
            json.member("isConnected", now.isConnected)
            json.member("revision", now.revision)
            json.member("lagRevisions", now.lag)
            if now.level != .none { json.member("ageSeconds", raw: now.level.ageText) }
        }
    }
}
