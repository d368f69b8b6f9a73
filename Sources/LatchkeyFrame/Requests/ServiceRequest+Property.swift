package import LatchkeyHTTP
package import LatchkeyStore

/// Answers with properties.
extension ServiceRequest {
    /// Answers a read of a property.
    ///
    /// - Parameters:
    ///   - property: What was found.
    ///   - conditions: Those of the request.
    ///   - isPast: Whether it is a state of before.
    @inline(__always)
    package func answer(_ property: Property?, _ conditions: Conditions, isPast: Bool = false) {
        guard let property else {
            fail(.notFound)
            return
        }
        switch conditions.verdict(property.revision) {
        case .pass:
            respond(value: property) { answer in
                if !isPast { addRevision(of: property, to: &answer) }
            }
        case .noMatch: fail(.preconditionFailed)
        case .match: respond(notModified: property, isPast: isPast)
        }
    }

    /// Answers that the client has the property already.
    ///
    /// The value is not sent, but its length is: the one of the 200 (RFC 9110, section 8.6). Caches
    /// are known to take a length of 0 for that of the value.
    package func respond(notModified property: Property, isPast: Bool = false) {
        let body = unsafe ResponseBody.owned(property.valueBytes, owner: property.owner)
        respond(.notModified, body: body) { answer in
            answer.add("ETag", quoted: property.revision)
            if !isPast { addRevision(of: property, to: &answer) }
        }
    }

    /// Says the revision that the property was read at, if the service is a replica.
    ///
    /// All changes up to that of the level were there before the look. If the property is of a
    /// later one, it is what it was then; else nothing has changed it since.
    @inline(__always)
    private func addRevision(of property: Property, to answer: inout ResponseFields) {
        if level != .none {
            answer.add("Latchkey-Revision", max(level.revision, property.revision))
        }
    }

    /// Answers with a property's value, whose bytes are sent from the store without a copy.
    ///
    /// - Parameters:
    ///   - property: The property.
    ///   - time: What its time to live is counted from; nil for now.
    ///   - fields: Adds further header fields.
    ///   - audit: Says what the request did.
    package func respond(
        value property: Property,
        at time: Timestamp? = nil,
        fields: (inout ResponseFields) -> Void = { _ in },
        audit: (inout AuditDetail) -> Void = { _ in }
    ) {
        let body = unsafe ResponseBody.owned(property.valueBytes, owner: property.owner)
        func addFields(_ answer: inout ResponseFields) {
            answer.add("Content-Type", "application/json")
            answer.add("ETag", quoted: property.revision)
            answer.add("Latchkey-Created", property.created)
            if property.isMortal {
                let time = time ?? StoreClock.system.now()
                let left = TimeToLiveText.text(until: property.expiry, at: time)
                answer.add("Latchkey-TTL", text: left)
            }
            fields(&answer)
        }
        respond(.ok, body: body, fields: addFields, audit: audit)
    }
}
