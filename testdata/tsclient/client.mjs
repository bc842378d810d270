// Drives a bridge with the official TypeScript SDK's client. Commands come as JSON
// lines on stdin, events go as JSON lines to stdout; README.md describes both.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const { values: options } = parseArgs({
    options: {
        url: { type: 'string' },
        spawn: { type: 'string' },
        'token-file': { type: 'string' },
        revision: { type: 'string', default: 'legacy' },
    },
});

const emit = (event, fields = {}) => process.stdout.write(JSON.stringify({ event, ...fields }) + '\n');

const describe = (err) => ({
    name: err?.name ?? typeof err,
    message: String(err?.message ?? err),
    code: err?.code ?? null,
});

function token() {
    if (options['token-file']) {
        return readFileSync(options['token-file'], 'utf8').split('\n', 1)[0].trim();
    }
    return process.env.TAU_MCP_TOKEN ?? '';
}

const negotiation = { legacy: 'legacy', auto: 'auto' }[options.revision] ?? { pin: options.revision };

let client;
let transport;
const calls = new Map(); // name → AbortController

function overStdio() {
    const [command, ...args] = JSON.parse(options.spawn);
    return new StdioClientTransport({ command, args, stderr: 'inherit' });
}

function overHTTP() {
    return new StreamableHTTPClientTransport(new URL(options.url), {
        requestInit: { headers: { Authorization: `Bearer ${token()}` } },
        reconnectionOptions: {
            initialReconnectionDelay: 100,
            maxReconnectionDelay: 1000,
            reconnectionDelayGrowFactor: 2,
            maxRetries: 0,
        },
    });
}

async function connect() {
    transport = options.spawn ? overStdio() : overHTTP();
    client = new Client({ name: 'tau-tsclient', version: '1.0.0' }, {
        // It says that it can be asked, so that a test sees that it never is.
        capabilities: { elicitation: {} },
        versionNegotiation: { mode: negotiation },
    });
    client.setRequestHandler('elicitation/create', (request) => {
        emit('asked', { params: request.params });
        return { action: 'accept', content: { approved: true } };
    });
    await client.connect(transport);
    emit('connected', {
        protocol: client.getNegotiatedProtocolVersion() ?? null,
        server: client.getServerVersion() ?? null,
        capabilities: client.getServerCapabilities() ?? null,
    });
}

async function list() {
    const tools = [];
    let cursor;
    do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        tools.push(...page.tools);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    emit('tools', { tools });
}

function call({ as, tool, arguments: args, timeout_ms: timeout = 60_000, progress = false }) {
    if (calls.has(as)) {
        throw new Error(`a call ${as} is open already`);
    }
    const abort = new AbortController();
    calls.set(as, abort);
    const request = { timeout, signal: abort.signal };
    if (progress) {
        request.onprogress = (p) => emit('progress', { as, progress: p.progress, message: p.message ?? '' });
    }
    // Not awaited: further commands, a cancel among them, are read meanwhile.
    client.callTool({ name: tool, arguments: args }, request).then(
        (result) => emit('result', {
            as,
            isError: result.isError ?? false,
            text: result.content.filter((c) => c.type === 'text').map((c) => c.text),
            structured: result.structuredContent ?? null,
        }),
        (err) => emit('failed', { as, error: describe(err) }),
    ).finally(() => calls.delete(as));
    emit('started', { as });
}

function cancel({ as, reason = 'cancelled by the test' }) {
    const abort = calls.get(as);
    if (!abort) {
        throw new Error(`no call ${as} is open`);
    }
    abort.abort(reason);
    emit('cancelled', { as });
}

async function close({ terminate = false }) {
    if (terminate && transport?.sessionId) {
        await transport.terminateSession();
    }
    await client?.close();
    client = transport = undefined;
    emit('closed');
}

const commands = { connect, list, call, cancel, close };

for await (const line of createInterface({ input: process.stdin })) {
    let command;
    try {
        command = JSON.parse(line);
        if (command.do === 'drop') {
            process.exit(0); // without a word to the server
        }
        if (!Object.hasOwn(commands, command.do)) {
            throw new Error(`unknown command ${command.do}`);
        }
        await commands[command.do](command);
    } catch (err) {
        emit('failed', { do: command?.do ?? null, as: command?.as ?? null, error: describe(err) });
    }
}
await client?.close();
