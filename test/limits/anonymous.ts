import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { createAuthority, createCertificate } from '../harness/certificates.ts';
import { IN_TURN, NEW_WORD, pipelined, requestText, single } from './attack.ts';
import type { Scenario } from './scenario.ts';

const KB = 1024;
const HOSTS = Array.from({ length: 50 }, (_, number) => `host-${number}.example`);
const OPEN_PATHS = ['/docs', '/openapi.json', '/metrics', '/unknown'];

/** The start of a ClientHello record without its remaining 506 bytes (RFC 8446 section 5.1). */
const CLIENT_HELLO_BEGINNING = '\x16\x03\x01\x02\x00\x01';

/** Attacks that need no token. */
export const ANONYMOUS: readonly Scenario[] = [
  {
    name: 'Open connections and send nothing',
    openFiles: 64,
    variables: { TSIGIL_API_REQUEST_TIMEOUT_SECONDS: '3' },
    attack: () => ({
      ...IN_TURN,
      seconds: 7,
      connections: 60,
      blocks: [],
      sending: 'nothing',
    }),
    atLeast: { opened: 38 },
  },
  {
    name: 'Begin TLS handshakes and do not finish them',
    openFiles: 64,
    needs: ['openssl', 'openssl'],
    prepare(folder) {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0'); // for the self-signed certificate
      onTestFinished(() => void vi.unstubAllEnvs());
      createAuthority(folder, 'authority');
      createCertificate(folder, 'authority');
      return {
        TSIGIL_TLS_CERT: join(folder, 'server.pem'),
        TSIGIL_TLS_KEY: join(folder, 'server.key'),
      };
    },
    attack: () => ({
      seconds: 14,
      connections: 38,
      blocks: single(CLIENT_HELLO_BEGINNING),
      sending: 'once',
      reading: 'everything',
    }),
    atLeast: { opened: 38, closed: 38 },
  },
  {
    name: 'Pipeline 57 KB of requests on 20 connections',
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: pipelined(57 * KB, ...OPEN_PATHS.map((path) => requestText('GET', path))),
      sending: 'always',
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Request the documents with 50 alternating Host headers',
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: pipelined(
        57 * KB,
        ...HOSTS.flatMap((host) =>
          OPEN_PATHS.map((path) => requestText('GET', path, { Host: host })),
        ),
      ),
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Send requests at one byte per second',
    attack: () => ({
      ...IN_TURN,
      connections: 300,
      blocks: single(requestText('GET', '/v2/tlds')),
      sending: 'a byte a second',
    }),
    atLeast: { opened: 20 },
  },
  {
    name: 'Read /docs slowly',
    attack: () => ({
      ...IN_TURN,
      connections: 100,
      blocks: pipelined(57 * KB, requestText('GET', '/docs')),
      sending: 'always',
      reading: 'slowly',
    }),
    atLeast: { opened: 20, receivedBytes: 10_000 },
  },
  {
    name: 'Guess tokens',
    attack: () => ({
      ...IN_TURN,
      connections: 20,
      blocks: pipelined(
        8 * KB,
        requestText('GET', '/v2/tlds', { 'X-Auth-Token': `tsigil_${NEW_WORD}${NEW_WORD}` }),
      ),
    }),
    atLeast: { answers: 100 },
  },
  {
    name: 'Open and close connections',
    attack: () => ({
      ...IN_TURN,
      connections: 50,
      blocks: [],
      sending: 'nothing',
      closing: 'at once',
    }),
    atLeast: { opened: 1000 },
  },
];
