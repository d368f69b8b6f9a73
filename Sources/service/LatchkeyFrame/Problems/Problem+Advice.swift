internal import LatchkeyHTTP
internal import LatchkeyStore

extension Problem {
    /// Advice for the client: the text of the problem's page.
    package var advice: String {
        switch self {
        case .malformedJSON:
            "Send one JSON value (RFC 8259) in UTF-8 and nothing after it. The detail names the "
                + "byte of the error."
        case .tooDeep:
            "Nest arrays and objects no deeper than --max-json-depth, or raise that limit."
        case .invalidBody:
            "/openapi.yaml has the schema of the body. To increment, send no body, or an object "
                + "with the single member \"by\", a 64-bit integer."
        case .invalidName:
            "A name has 1 to 256 bytes of UTF-8 without control characters. It is "
                + "percent-encoded in the path; %2F is a slash in the name."
        case .invalidQuery:
            "Use only the parameters of this request, each at most once and within its limits. "
                + "/openapi.yaml lists them."
        case .invalidCondition:
            "Send If-Match and If-None-Match with * or with a list of quoted entity tags, such as "
                + "\"7\"."
        case .invalidTarget:
            "Send two hexadecimal digits after each percent sign, and encode text as UTF-8."
        case .partialPut:
            "Send the whole value, without Content-Range (RFC 9110 section 14.4)."
        case .invalidIdempotencyKey:
            "Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID."
        case .unauthorized:
            "Send Authorization: Bearer and a token of --token-file, which 'latchkey token create' "
                + "makes."
        case .forbidden:
            "The detail names the right that is missing. Add it to the token's line in "
                + "--token-file, or use another token. Rights for prefixes of names must hold for "
                + "all names that the request can reach."
        case .notFound:
            "Create the property with PUT, or list the names with GET /v1/properties."
        case .noRoute:
            "/openapi.yaml lists the paths. A / in a property's name is written %2F in the path."
        case .methodNotAllowed:
            "The Allow header lists the methods of this path."
        case .requestTimeout:
            "Send the whole request within --request-timeout-seconds."
        case .notAnInteger:
            "Only a JSON integer of at most 64 bits can be incremented. Replace the value with "
                + "PUT first."
        case .overflow:
            "The value is unchanged. Increment by less, or replace the value with PUT."
        case .gone:
            "Ask for a later revision, or read the current state. The limit of the history is "
                + "--history-bytes."
        case .valueTooLarge:
            "Nothing was changed. Make the value smaller, read fewer values in one transaction, or "
                + "raise --max-body-bytes. It limits values that grow by merge patches, and with "
                + "--data no value has more than 999,990,000 bytes. The values in the results of "
                + "a transaction have at most 16 times as many bytes."
        case .transactionTooLarge:
            "Nothing was changed. Count, delete or pop under a longer prefix, or use fewer or "
                + "shorter values in conditions and merges: a change is at most "
                + "\(StoreLimits.standard.changeUnitsMax) units of work, which are about "
                + "as many names, or KiB. A merge, also by PATCH, reads and writes: replace a "
                + "value of 8 MB or more with PUT. The pops of a change have at most 8 pairs of "
                + "prefix and claim."
        case .preconditionFailed:
            "Get the property and its ETag, and decide again."
        case .bodyTooLarge:
            "Send at most --max-body-bytes bytes, or raise that limit."
        case .targetTooLong:
            "Send a path and query of at most "
                + "\(HTTPServerConfiguration.standard.targetBytesMax) bytes."
        case .unsupportedMediaType:
            "Send application/json without a content coding: curl does so with --json. PATCH also "
                + "takes application/merge-patch+json, and an import application/x-ndjson."
        case .misdirectedRequest:
            "Use an address or localhost, or allow the name with --allowed-host. Other names are "
                + "refused because a page of another site could use them (DNS rebinding)."
        case .crossSiteRequest:
            "Nothing was changed, and nothing is told. Only pages of this service can use it: "
                + "Origin must name the host and port of Host. A proxy must pass on Host as the "
                + "browser sent it. Allow pages of your own with --allow-origin."
        case .idempotencyKeyReused:
            "Nothing was changed. Use a key for one request only: the same method, target and "
                + "body. Choose a new key for a new request."
        case .headersTooLarge:
            "Send at most 100 header lines, of at most --max-header-bytes bytes together."
        case .malformedRequest:
            "Send a request as in RFC 9112: lines that end with CR LF, one Host, one length, and "
                + "chunks with at most 16 KiB of extensions."
        case .tooManyConnectionsPerAddress:
            "Use your open connections again, or raise --max-connections-per-address or "
                + "--client-share. If the address is a proxy's, name it with --trusted-proxy."
        case .clientShareTaken:
            "Nothing was changed. The detail names what there is a share of. Give back what you "
                + "have, or raise --client-share. If the address is a proxy's, name it with "
                + "--trusted-proxy."
        case .rateExceeded:
            "Nothing was changed. Try again after the time in Retry-After, and send fewer "
                + "requests. The limit is --rate."
        case .outcomeUnknown:
            "The request was accepted and may take effect, but it was not finished in time. Repeat "
                + "it if it had an Idempotency-Key. Otherwise read the property before you send "
                + "the request again."
        case .answerNotKept:
            "The first request with this Idempotency-Key had its effect, and it was not run again. "
                + "Read the properties to see their values. The limit is --idempotency-bytes."
        case .unsupportedTransferCoding:
            "Send the body with a Content-Length, or chunked."
        case .outOfMemory:
            "Try again after the time in Retry-After."
        case .tooManyConnections:
            "Try again after the time in Retry-After, and use connections for several requests."
        case .tooManyIdempotencyKeys:
            "Nothing was changed. Try again after the time in Retry-After. The limits are "
                + "--idempotency-bytes and \(IdempotencyLimits.standard.keyCountMax) keys."
        case .backlogFull:
            "Nothing was changed. Try again after the time in Retry-After, and send fewer writes "
                + "at once. The limit is --backlog."
        case .tooManyWatchers:
            "Try again after the time in Retry-After, or raise --max-watchers."
        case .timedOut:
            "Nothing was changed. Try again after the time in Retry-After. The limit is "
                + "--answer-timeout-seconds."
        case .recovering:
            "Try again after the time in Retry-After. /readyz says how far it is."
        case .journalFailed:
            "Nothing was changed. Try again after the time in Retry-After. Reads still work; "
                + "/readyz?verbose and the log say what is wrong."
        case .diskFull:
            "Nothing was changed. Make room in the file system of --data; in a cluster in those of "
                + "most replicas, or in etcd. Reads still work, and writes go on by themselves."
        case .draining:
            "Try again after the time in Retry-After; another process may then serve."
        case .storeFull:
            "Delete properties, or raise --max-properties or --max-bytes. Reads, deletes and "
                + "smaller values still work."
        case .quotaExceeded:
            "Nothing was changed. The detail names the prefix and the limit. Delete properties "
                + "with the prefix, or raise --quota. Nothing is removed to make room in a quota."
        case .invalidLine:
            "Send one object on each line, with the members name and value, and maybe ttl. The "
                + "lines before the batch of this one are applied."
        case .incompleteImport:
            "Send all lines of an export, the last of which has \"end\":true. Where it is missing, "
                + "the export was cut off. Send ?partial=true with lines that are a part of an "
                + "export, or none. The lines before the last batch are applied."
        case .operationNotFound:
            "List the operations with GET /v1/operations. The last "
                + "\(ForeignBounds.operationHistoryCountMax) that ended are kept."
        case .operationExists:
            "Choose another id, or none. Ended operations keep theirs until they are forgotten."
        case .dependencyCycle:
            "Leave out one of the dependencies. Nothing of the request was accepted."
        case .unknownDependency:
            "Send the operations that depend on each other in one request, or in their order. "
                + "Operations that ended long ago are forgotten."
        case .dependencyFailed:
            "Look at the operations in dependsOn: one of them failed or was cancelled."
        case .tooManyOperations:
            "Nothing was accepted. Try again after the time in Retry-After. The limits are "
                + "--max-operations, and \(ForeignBounds.operationByteCountMax) bytes of "
                + "operations and their values."
        case .fetchNotAllowed:
            "Allow the host with --allow-fetch. Private and loopback addresses must be listed "
                + "themselves."
        case .fetchFailed:
            "Check that the URL answers with JSON, within "
                + "\(ForeignBounds.fetchSeconds) seconds and of at most "
                + "\(ForeignBounds.fetchByteCountMax) bytes."
        case .compareNotAvailable:
            "Send the operation to a service that was started with latchkey serve."
        case .compareFailed:
            "The detail says what went wrong."
        case .tooManyExports:
            "Try again after the time in Retry-After. At most "
                + "\(ForeignBounds.exportCountMax) exports are sent at once."
        case .tooManyAnswers:
            "Nothing was changed. Try again after the time in Retry-After, or raise --answer-bytes."
        case .profilingOff:
            "Start the service with --profile, or with LATCHKEY_PROFILE=true."
        case .notLeader:
            "Send the request to the address in leader, which Latchkey-Leader has, too."
        case .notFollowing:
            "Promote a service that was started with --follow, and once."
        case .noBackup:
            "Start the service with --data."
        case .backupFailed:
            "The detail says why. There may be too little room in the folder of --data."
        case .notLevel:
            "Try again after the time in Retry-After. Without consistency=linearizable and "
                + "min-revision the service answers with the state that it has."
        case .tooManyProfiles:
            "Try again after the time in Retry-After. At most 8 profiles are taken at once."
        case .switchUnderWay:
            "Nothing was changed. Wait for the answer to the other request, and read "
                + "GET /v1/strategy."
        case .strategyNotAvailable:
            "Nothing was changed. A strategy whose accesses never block a thread guards one "
                + "stripe: start the service with it, or with --stripes 1."
        }
    }
}
