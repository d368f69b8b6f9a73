package import LatchkeyHTTP
package import LatchkeyStore

/// Answers with properties.
extension ServiceRequest {
    /// Answers a read of a property.
    ///
    /// - Parameters:
    ///   - property: The property; nil if none was found.
    ///   - conditions: The conditions of the request.
    ///   - isPast: Whether it is an earlier state.
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
    /// The value is not sent, but its length is: the one of the 200 (RFC 9110, section 8.6). Some
    /// caches take a length of 0 for that of the value.
    package func respond(notModified property: Property, isPast: Bool = false) {
        respond(.notModified, body: ResponseBody(valueOf: property)) { answer in
            answer.add("ETag", quoted: property.revision)
            if !isPast { addRevision(of: property, to: &answer) }
        }
    }

    /// Adds the revision at which the property was read, if the service is a replica.
    ///
    /// All changes up to the revision of the level were there before the read. If the property's
    /// own revision is later, the property is as of that revision; else nothing has changed it
    /// since.
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
    ///   - fields: Adds further header fields.
    private func respond(
        value property: Property,
        fields: (inout ResponseFields) -> Void
    ) {
        respond(
            .ok,
            body: ResponseBody(valueOf: property),
            fields: { answer in
                answer.add(property)
                fields(&answer)
            }
        )
    }
}

extension ResponseBody {
    /// A property's value, whose bytes are sent from the store without a copy.
    package init(valueOf property: Property) {
        self = unsafe .owned(property.valueBytes, owner: property.owner)
    }
}

extension ResponseFields {
    /// Adds the header fields of an answer with a property's value.
    ///
    /// Its time to live is counted from `time`; nil for now.
    package mutating func add(_ property: Property, at time: Timestamp? = nil) {
        add("Content-Type", "application/json")
        add("ETag", quoted: property.revision)
        add("Latchkey-Created", property.created)
        if property.isMortal {
            let time = time ?? StoreClock.system.now()
            add("Latchkey-TTL", text: TimeToLiveText.text(until: property.expiry, at: time))
        }
    }
}
