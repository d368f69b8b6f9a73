// Calls a running service with the TypeScript client that openapi-generator made from openapi.yaml,
// with which this file is compiled:
//
//     node calls.js URL
import { Configuration, OperatingApi, OperationsApi, PropertiesApi, ResponseError, StrategiesApi }
    from "./index";

declare const process: { argv: string[]; exitCode: number };

const configuration = new Configuration({ basePath: process.argv[2] });
const properties = new PropertiesApi(configuration);

// A name that a client must encode, and in which a path would swallow characters.
const name = "typescript/a b?#%ü";

function expect(found: unknown, wanted: unknown): void {
    const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (one !== other) throw new Error(`${one} instead of ${other}`);
}

/** The status of a call whose status is not 2xx. */
async function refused(call: Promise<unknown>): Promise<number> {
    try {
        await call;
    } catch (error) {
        if (error instanceof ResponseError) return error.response.status;
        throw error;
    }
    throw new Error("not refused");
}

async function values(): Promise<void> {
    const put = await properties.putPropertyRaw({ name, body: { max: 50 } });
    expect(put.raw.status, 201);
    expect(await properties.getProperty({ name }), { max: 50 });
    expect(await properties.patchProperty({ name, body: { max: 60 }, ttl: 100 }), { max: 60 });
    const tag = put.raw.headers.get("ETag") ?? "";
    expect(await refused(properties.putProperty({ name, body: 1, ifMatch: tag })), 412);
    expect(await properties.incrementProperty({ name: "typescript/n", increment: { by: 5 } }), 5);
    expect(await refused(properties.getProperty({ name: "typescript/none" })), 404);
    await properties.putProperty({ name: "typescript/null", body: null });
    expect(await properties.getProperty({ name: "typescript/null" }), null);
}

async function several(): Promise<void> {
    const result = await properties.commitTransaction({ transaction: {
        _if: [
            { name: "typescript/n", "<": 6 }, { name: "typescript/null", equals: null },
            { name: "typescript/none", exists: false },
        ],
        then: [
            { put: "typescript/t", value: null, ttlIfNew: 60 },
            { increment: "typescript/n", by: 2 }, { get: "typescript/n" },
        ],
    } });
    expect([result.succeeded, result.results[2]?.value], [true, 7]);
    const other = await properties.commitTransaction({ transaction: {
        _if: [{ name: "typescript/n", "!=": 7 }], then: [{ _delete: "typescript/n" }],
        _else: [{ count: "typescript/" }],
    } });
    expect([other.succeeded, other.results[0]?.count], [false, 4]);
    const page = await properties.listProperties({ prefix: "typescript/", limit: 1 });
    expect(page.properties.map(property => property.value), [{ max: 60 }]);
    const rest = await properties.listProperties({ prefix: "typescript/", after: page.next });
    expect(rest.properties.length, 3);
    const changes = await properties.listChanges({ after: result.revision - 1 });
    expect(changes.changes[0]?.revision, result.revision);
}

async function transfers(): Promise<void> {
    const lines = await properties.exportProperties({ prefix: "typescript/" });
    expect((await properties.importProperties({ body: lines })).imported, 4);
    const taken = await properties.popProperty({ prefix: "typescript/n" });
    expect(taken.result.name, "typescript/n");
    expect((await properties.deleteProperties({ prefix: "typescript/" })).count, 3);
}

async function others(): Promise<void> {
    const operations = new OperationsApi(configuration);
    const accepted = await operations.submitOperationsRaw({ submitOperationsRequest: {
        id: "typescript", after: 600, steps: [{ put: "typescript/o", value: 1 }, { _import: null }],
    } });
    expect(accepted.raw.status, 202);
    expect((await operations.getOperation({ id: "typescript" })).steps, 2);
    expect((await operations.cancelOperationRaw({ id: "typescript" })).raw.status, 202);
    const operating = new OperatingApi(configuration);
    expect((await operating.getHealth()).status, "ok");
    expect((await operating.getReadiness()).status, "ready");
    const strategies = await new StrategiesApi(configuration).listStrategies();
    expect(strategies.strategies.length > 10, true);
}

async function main(): Promise<void> {
    await values();
    await several();
    await transfers();
    await others();
}

main().catch(async error => {
    console.error(error, error instanceof ResponseError ? await error.response.text() : "");
    process.exitCode = 1;
});
