import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AuditRecord } from '../../../src/domain/audit/record.ts';
import { AUDIT_FORMATS } from '../../../src/domain/audit-formats/formats.ts';
import { EXAMPLE_RECORD } from '../../../src/domain/operations/audit-responses.ts';

const RECORD: AuditRecord = {
  ...EXAMPLE_RECORD,
  seq: 42,
  batch: 7,
  roles: ['keymanager', 'reader'],
  detail: { changes: { algorithm: ['hmac-sha1', 'hmac-sha256'] } },
};

function write(format: string, changes: Partial<AuditRecord> = {}): string {
  return AUDIT_FORMATS[format]?.write({ ...RECORD, ...changes }, '0.4.0') ?? '';
}

/** The line of each format for the example record. */
const WRITTEN: Readonly<Record<string, string>> = {
  jsonl: JSON.stringify(RECORD),
  cef: `CEF:0|Tsigil|Tsigil|0.4.0|tsigkeys:update|tsigkeys:update|3|rt=1795253400123 cat=audit externalId=7-42 outcome=success suid=${RECORD.actor_id} suser=terraform spriv=keymanager,reader src=192.0.2.7 cs1=tsigkeys cs1Label=resourceType cs2=${RECORD.resource_id} cs2Label=resourceId cs3=transfer.example. cs3Label=resourceName cs5=${RECORD.request_id} cs5Label=requestId cs6={"changes":{"algorithm":["hmac-sha1","hmac-sha256"]}} cs6Label=detail flexString1=token flexString1Label=actorKind`,
  syslog: `<109>1 2026-11-21T09:30:00.123456Z - tsigil - tsigkeys:update [tsigil@32473 seq="42" batch="7" action="tsigkeys:update" outcome="success" actorKind="token" actorId="${RECORD.actor_id}" actorName="terraform" role="keymanager" role="reader" source="192.0.2.7" resourceType="tsigkeys" resourceId="${RECORD.resource_id}" resourceName="transfer.example." requestId="${RECORD.request_id}" detail="{\\"changes\\":{\\"algorithm\\":[\\"hmac-sha1\\",\\"hmac-sha256\\"\\]}}"]`,
};

describe('formats of audit records', () => {
  test.each(Object.entries(WRITTEN))('%s', (format, line) => {
    expect(write(format)).toBe(line);
  });

  test('cadf', () => {
    const event = JSON.parse(write('cadf')) as Record<string, unknown>;
    expect(event).toEqual({
      typeURI: 'http://schemas.dmtf.org/cloud/audit/1.0/event',
      eventType: 'activity',
      id: expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-/,
      ) as unknown,
      eventTime: '2026-11-21T09:30:00.123456+0000',
      action: 'update',
      outcome: 'success',
      initiator: {
        id: RECORD.actor_id,
        typeURI: 'service/security/account/user',
        name: 'terraform',
        host: { address: '192.0.2.7' },
        request_id: RECORD.request_id,
        roles: RECORD.roles,
      },
      target: {
        id: RECORD.resource_id,
        typeURI: 'service/dns/tsigkeys',
        name: 'transfer.example.',
      },
      observer: { id: 'tsigil', typeURI: 'service/dns', name: 'tsigil' },
      attachments: [
        { name: 'action', typeURI: 'mime:text/plain', content: 'tsigkeys:update' },
        { name: 'outcome', typeURI: 'mime:text/plain', content: 'success' },
        { name: 'position', typeURI: 'mime:text/plain', content: '7-42' },
        { name: 'detail', typeURI: 'mime:application/json', content: RECORD.detail },
      ],
    });
  });

  test('cadf always gives a record the same id, and different records different ids', () => {
    const idOf = (changes?: Partial<AuditRecord>) =>
      (JSON.parse(write('cadf', changes)) as { id: string }).id;
    expect(idOf()).toBe(idOf());
    expect(idOf({ seq: 43 })).not.toBe(idOf());
  });

  /** Changes to the example record, with the resulting members of the CADF event. */
  test.each<[Partial<AuditRecord>, object]>([
    [{ action: 'tlds:list' }, { action: 'read/list' }],
    [{ action: 'tsigkeys:reveal' }, { action: 'read' }],
    [{ action: 'encryption:rotate-data-key' }, { action: 'configure' }],
    [{ action: 'tlds:bulk' }, { action: 'update' }],
    [{ action: 'audit:purge' }, { action: 'unknown' }],
    [{ action: '__proto__:constructor' }, { action: 'unknown' }],
    [{ outcome: 'denied' }, { outcome: 'failure' }],
    [
      { resource_id: null, resource_name: null },
      { target: { id: 'tsigkeys', typeURI: 'service/dns/tsigkeys' } },
    ],
  ])('cadf for a record with %j contains %j', (changes, members) => {
    expect(JSON.parse(write('cadf', changes))).toMatchObject(members);
  });

  test('a refused request has a higher severity than a successful request', () => {
    expect(write('cef', { outcome: 'denied' })).toContain('|6|');
    expect(write('syslog', { outcome: 'denied' })).toMatch(/^<108>1 /);
  });

  test('cef writes an IPv6 address to the field for IPv6 addresses', () => {
    const line = write('cef', { source: '2001:db8::7' });
    expect(line).toContain(' c6a2=2001:db8::7 c6a2Label=sourceAddress ');
    expect(line).not.toContain(' src=');
  });

  /** Hostile names, and the text of each name in CEF and syslog. */
  test.each([
    ['line feed', 'a\nb', 'a\\nb', 'a\\\\u000ab'],
    ['carriage return', 'a\rb', 'a\\rb', 'a\\\\u000db'],
    ['pipe', 'a|b', 'a|b', 'a|b'],
    ['equals sign', 'a=b', 'a\\=b', 'a=b'],
    ['backslash', 'a\\b', 'a\\\\b', 'a\\\\b'],
    ['quotation mark', 'a"b', 'a"b', 'a\\"b'],
    ['closing bracket', 'a]b', 'a]b', 'a\\]b'],
    ['escape sequence', '\u001b[31m', '\\\\u001b[31m', '\\\\u001b[31m'],
    ['line separator', 'a\u2028b', 'a\\\\u2028b', 'a\\\\u2028b'],
    ['next line', 'a\u0085b', 'a\\\\u0085b', 'a\\\\u0085b'],
    ['reading order', 'a\u202eb', 'a\\\\u202eb', 'a\\\\u202eb'],
    ['lone surrogate', 'a\ud800b', 'a\\\\ud800b', 'a\\\\ud800b'],
  ])('%s', (_, name, inCef, inSyslog) => {
    expect(write('cef', { resource_name: name })).toContain(` cs3=${inCef} cs3Label=resourceName `);
    expect(write('syslog', { resource_name: name })).toContain(` resourceName="${inSyslog}" `);
  });

  test('pipes and line feeds in an action do not change the fields of a CEF header', () => {
    expect(write('cef', { action: 'a|b\nc' })).toContain('|a\\|b\\\\u000ac|a\\|b\\\\u000ac|3|rt=');
  });

  test('cef truncates a name to at most 4,000 characters, and the other formats write the whole name', () => {
    const name = '\u{1f600}'.repeat(5000);
    expect(readCef(write('cef', { resource_name: name })).get('cs3')).toHaveLength(4000);
    for (const format of ['jsonl', 'cadf', 'syslog'])
      expect(write(format, { resource_name: name })).toContain(name);
  });
});

/** Parses the extension of a CEF line as log collectors do. */
function readCef(line: string): Map<string, string> {
  const header = /^CEF:0(?:\|(?:[^|\\]|\\[|\\])*){6}\|/.exec(line)?.[0] ?? '';
  expect(header).not.toBe('');
  const values = new Map<string, string>();
  for (const [, name = '', value = ''] of line
    .slice(header.length)
    .matchAll(/(\w+)=((?:[^=\\]|\\[=\\nr])*)(?= \w+=|$)/g))
    values.set(
      name,
      value.replaceAll(/\\(.)/g, (_, escaped: string) =>
        escaped === 'n' ? '\n' : escaped === 'r' ? '\r' : escaped,
      ),
    );
  return values;
}

/** Parses the structured data of a syslog line (RFC 5424 section 6). */
function readSyslog(line: string): Map<string, string> {
  const match =
    /^<10[89]>1 \S+ - tsigil - [\x21-\x7e]{1,32} \[tsigil@32473((?: \w{1,32}="(?:[^"\\\]]|\\["\\\]])*")*)\]$/u.exec(
      line,
    );
  expect(match).not.toBeNull();
  return new Map(
    [...(match?.[1] ?? '').matchAll(/ (\w+)="((?:[^"\\\]]|\\.)*)"/gu)].map(
      ([, name = '', value = '']) => [name, value.replaceAll(/\\(.)/gu, '$1')],
    ),
  );
}

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\n', '\r', '|', '=', ']', '[', '"', '\\', '\u001b', '\0', ' ', '\u2028'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  minLength: 1,
  maxLength: 60,
});

/**
 * Returns text with unprintable characters escaped, apart from the line breaks that `lineBreaks`
 * matches.
 */
function shown(text: string, lineBreaks: RegExp | undefined): string {
  return Array.from(text)
    .map((character) =>
      /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/u.test(
        character,
      ) && lineBreaks?.test(character) !== true
        ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
        : character,
    )
    .join('');
}

describe('records with values that an attacker has chosen', () => {
  const records = fc.record({
    actor_name: hostile,
    resource_name: hostile,
    resource_id: hostile,
    project_id: hostile,
    action: hostile,
    source: hostile,
    detail: fc.dictionary(hostile, fc.array(hostile, { maxLength: 2 }), { maxKeys: 3 }),
  });

  test('are one line of printable characters in every format', () => {
    fc.assert(
      fc.property(records, fc.constantFrom(...Object.keys(AUDIT_FORMATS)), (record, format) => {
        const line = write(format, record);
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
  });

  test('are unchanged after jsonl and cadf are parsed as JSON', () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(JSON.parse(write('jsonl', record))).toEqual({ ...RECORD, ...record });
        const event = JSON.parse(write('cadf', record)) as { initiator: { name: string } };
        expect(event.initiator.name).toBe(record.actor_name);
      }),
    );
  });

  test('do not change other fields of a CEF line', () => {
    const printable = hostile.filter((text) => /^[^\p{Cs}]*$/u.test(text));
    fc.assert(
      fc.property(printable, (name) => {
        const expected = readCef(write('cef'));
        const read = readCef(write('cef', { actor_name: `x${name}x` }));
        expect(read).toEqual(new Map([...expected, ['suser', shown(`x${name}x`, /[\n\r]/)]]));
      }),
    );
  });

  test('do not change other parameters of a syslog message', () => {
    const printable = hostile.filter((text) => /^[^\p{Cs}]*$/u.test(text));
    fc.assert(
      fc.property(printable, (name) => {
        const expected = readSyslog(write('syslog'));
        const read = readSyslog(write('syslog', { actor_name: name }));
        expect(read).toEqual(new Map([...expected, ['actorName', shown(name, undefined)]]));
      }),
    );
  });
});
