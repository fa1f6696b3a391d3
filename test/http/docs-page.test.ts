import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { createMasterKeyFile } from '../../src/store/secrets/master-keys.ts';
import { GUIDES_URL } from '../../src/version.ts';
import { renderDocsPage } from '../../src/http/docs/page.ts';
import { markup } from '../../src/http/docs/markup.ts';
import { DOCUMENTED_METHODS, type ApiDocument } from '../../src/http/openapi/document.ts';
import type { ApiResponse } from '../harness/client.ts';
import { startTestService, temporaryFolder, type TestService } from '../harness/service.ts';
import { hasProgram } from '../harness/tools.ts';

const folder = temporaryFolder();
let service: TestService;
let response: ApiResponse;
let page: string;
let api: ApiDocument;
beforeAll(async () => {
  // Without a master key, a service on PostgreSQL cannot rotate data keys.
  const file = join(folder, 'master.key');
  createMasterKeyFile(file);
  service = await startTestService({ TSIGIL_ENCRYPTION_MASTER_KEY_FILE: file });
  response = await service.with('').get('/docs');
  page = response.text;
  api = (await service.get('/openapi.json')).body as ApiDocument;
});

/** Returns the first group of every match of `expression` in the page. */
function all(expression: RegExp, text = page): string[] {
  return [...text.matchAll(expression)].map(([, group = '']) => group);
}

/** Replaces HTML entities with their characters. */
function unescape(html: string): string {
  const characters: Record<string, string> = {
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
    '&amp;': '&',
  };
  return html.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => characters[entity] ?? '');
}

describe('the page', () => {
  test('200 as HTML without a token', () => {
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=UTF-8');
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
  });

  test("200 with a Content-Security-Policy that allows only the page's own style sheet", () => {
    const styles = all(/<style>([^<]*)<\/style>/g);
    expect(styles).toHaveLength(1);
    const hash = createHash('sha256')
      .update(styles[0] ?? '')
      .digest('base64');
    expect(response.headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
  });

  test('contains no script and loads no other resource', () => {
    expect(page).not.toMatch(/<(?:script|link|img|iframe|object|embed|form|base|svg)\b/i);
    expect(page).not.toMatch(/<[^>]+\s(?:on\w+|style|src|srcset|action)=/i);
    expect(page).not.toMatch(/@import|url\(|javascript:/i);
    const others = all(/<a [^>]*href="([^"]*)"/g).filter((target) => !target.startsWith('#'));
    expect(others.filter((target) => !target.startsWith(GUIDES_URL))).toEqual([
      `${service.url}/openapi.json`,
    ]);
  });

  test('begins with TSIG keys, says that keys are delivered, and has a section for encryption', () => {
    const titles = all(/<h2 [^>]*>([^<]*)/g).map((title) => title.trim());
    expect(titles.slice(0, 3)).toEqual(['Overview', 'Signing in', 'TSIG keys']);
    expect(titles).toContain('Encryption');
    const headings = all(/<h3 [^>]*>([^<]*)/g).map((title) => title.trim());
    expect(headings[0]).toBe('Create a TSIG key');
    expect(api.paths['/v2/encryption']?.get?.tags).toEqual(['encryption']);
    expect(page).toMatch(/BIND, Knot DNS, NSD and PowerDNS can receive keys/);
  });

  test('links guides that exist', () => {
    const guides = all(new RegExp(`<a href="${GUIDES_URL}/([^"]+)"`, 'g'));
    expect(guides).toEqual(expect.arrayContaining(['keys.md', 'delivery.md']));
    expect(guides.filter((guide) => !existsSync(join('docs', guide)))).toEqual([]);
  });

  test('contains each id once, and the target of each internal link', () => {
    const ids = all(/ id="([^"]*)"/g);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(40);
    const targets = [...all(/ href="#([^"]*)"/g), ...all(/ aria-labelledby="([^"]*)"/g)];
    expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  });

  test('closes all elements in the right order', () => {
    const open: string[] = [];
    for (const [, slash, name = ''] of page
      .replace(/<style>[^<]*<\/style>/, '')
      .matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
      if (name === 'meta') continue;
      if (slash === '') open.push(name);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
  });

  test('contains landmarks, one h1, no skipped heading levels, and header cells in every table', () => {
    for (const element of ['header', 'nav', 'main', 'footer', 'h1'])
      expect(all(new RegExp(`<(${element})\\b`, 'g')), element).toHaveLength(1);
    const levels = all(/<h([1-6])\b/g).map(Number);
    expect(
      levels.filter((level, index) => index > 0 && level > (levels[index - 1] ?? 0) + 1),
    ).toEqual([]);
    const tables = page.split('<table').slice(1);
    expect(tables.length).toBeGreaterThan(20);
    for (const table of tables) {
      expect(table).toMatch(/<caption>[^<]+<\/caption>/);
      expect(table).toMatch(/<th [^>]*scope="col"/);
      expect(table).toMatch(/<th [^>]*scope="row"/);
    }
  });

  test('shows every operation, every member of every schema, and every parameter', () => {
    const ids = new Set(all(/ id="([^"]*)"/g));
    const operations = Object.values(api.paths).flatMap((item) =>
      DOCUMENTED_METHODS.flatMap((method) => item[method] ?? []),
    );
    expect(operations.filter(({ operationId }) => !ids.has(operationId))).toEqual([]);
    const shown = new Set(all(/<code>([^<]*)<\/code>/g).map(unescape));
    const members = Object.values(api.components.schemas).flatMap(({ properties }) =>
      Object.keys(properties as object),
    );
    const parameters = Object.values(api.components.parameters).map(({ name }) => name);
    expect(
      [...members, ...parameters, ...Object.keys(api.components.headers)].filter(
        (name) => !shown.has(name),
      ),
    ).toEqual([]);
  });

  test('shows every type of error with its status', () => {
    const types = [...JSON.stringify(api).matchAll(/"code":(\d+),"type":"([a-z_]+)"/g)].map(
      ([, status, type]) => `${status} ${type}`,
    );
    const table = page.slice(page.indexOf('<caption>All errors'));
    const rows = [
      ...table.matchAll(/<code>(\d+)<\/code><\/th><td [^>]*><code>([a-z_]+)<\/code>/g),
    ].map(([, status, type]) => `${status} ${type}`);
    expect(rows.sort()).toEqual([...new Set(types)].sort());
    expect(rows.length).toBeGreaterThan(20);
  });
});

describe('text from the OpenAPI document', () => {
  test('is never parsed as markup', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('<', '>', '&', '"', "'", 'a', '`', '\n', '/', '=', 'é', '😀'),
        }),
        (text) => {
          const { html } = markup`<p title="${text}">${[text, undefined]}</p>`;
          const [, attribute = '', content = ''] =
            /^<p title="([^"<>]*)">([^<>]*)<\/p>$/.exec(html) ?? [];
          expect([unescape(attribute), unescape(content)]).toEqual([text, text]);
        },
      ),
    );
  });

  test('is escaped everywhere on the page', () => {
    // Adds markup to every text of the document, as an attacker would.
    const hostile = `"'><script>alert(1)</script>&amp;`;
    const spoil = (value: unknown, name = ''): unknown => {
      if (Array.isArray(value)) return value.map((item) => spoil(item));
      if (typeof value === 'object' && value !== null)
        return Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [key, spoil(inner, key)]),
        );
      const isPlace = ['$ref', 'in', 'operationId', 'type'].includes(name);
      return typeof value === 'string' && !isPlace ? value + hostile : value;
    };
    const spoilt = spoil(api) as ApiDocument;
    const tags = api.tags.map(({ name }) => name);
    const rendered = renderDocsPage(spoilt);
    expect(rendered).not.toContain('<script');
    expect(rendered).not.toContain(`"'>`);
    expect(all(/(&lt;script&gt;)/g, rendered).length).toBeGreaterThan(500);
    expect(tags.length).toBeGreaterThan(3);
  });
});

describe.skipIf(!hasProgram('curl', 'curl'))('shell examples', () => {
  test('201 and 200 for the curl commands on the page, exactly as shown', async () => {
    const commands = all(/<pre><code>(curl [^<]*)<\/code><\/pre>/g).map(unescape);
    const operations = Object.values(api.paths).flatMap((item) =>
      DOCUMENTED_METHODS.filter((method) => item[method] !== undefined),
    );
    expect(commands.length).toBeGreaterThanOrEqual(operations.length);
    const run = async (command: string) => {
      const { stdout } = await promisify(execFile)(
        'sh',
        ['-c', `${command} -s -o /dev/null -w '%{http_code}'`],
        {
          env: { PATH: process.env.PATH, TOKEN: service.token },
        },
      );
      return Number(stdout);
    };
    for (const command of commands) {
      const isRepeated = commands.indexOf(command) !== commands.lastIndexOf(command);
      expect(isRepeated).toBe(false);
      // No resource has the id in the examples.
      const expected =
        /\/v2\/(?:tlds\/(?:check|bulk)|tsigkeys\/states|\w+\/import|(?:encryption|audit)\/\w|deliveries\/resume)/.test(
          command,
        )
          ? 200
          : command.includes('-X POST') &&
              !/\/(?:reconcile|release|remove-key|rotate|retire|abort|confirm|restore|reveal)'/.test(
                command,
              )
            ? 201
            : /\/v2\/\w+\//.test(command)
              ? 404
              : 200;
      expect(await run(command), command).toBe(expected);
    }
    const names = ['tlds', 'tsigkeys', 'pools', 'zones', 'tokens'];
    const counts = await Promise.all(
      names.map(
        async (name) =>
          [name, ((await service.get(`/v2/${name}`)).body[name] as unknown[]).length] as const,
      ),
    );
    // The examples create two resources of each type. A bulk request creates more TLD entries,
    // imports create TLD entries and keys, and one pool is the default pool.
    expect(Object.fromEntries(counts)).toEqual({
      tlds: 5,
      tsigkeys: 3,
      pools: 3,
      zones: 2,
      tokens: 2,
    });
  });
});
