import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatYaml } from '../../src/cli/output/yaml.ts';
import { describeConfig, readConfig } from '../../src/config/config.ts';
import type { Config } from '../../src/config/options.ts';
import { problemsOf as problemsIn } from './cases.ts';

const printed = (config: Config) => formatYaml(describeConfig(config));

const problemsOf = (variable: string, value: string) => problemsIn({ [variable]: value });

describe('a URL in headers or responses', () => {
  test.each([
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://dns.example/Bücher und mehr', 'https://dns.example/B%C3%BCcher%20und%20mehr'],
    ['https://рф:8443/api', 'https://xn--p1ai:8443/api'],
    ['HTTP://Dns.Example:80', 'http://dns.example'],
    ['http://[2001:DB8::1]:9001', 'http://[2001:db8::1]:9001'],
    ['https://dns.example/a"b', 'https://dns.example/a%22b'],
  ])('is converted to ASCII: %j', (given, ascii) => {
    const names = [
      'TSIGIL_PUBLIC_URL',
      'TSIGIL_AUTH_KEYSTONE_URL',
      'TSIGIL_AUTH_KEYSTONE_PUBLIC_URL',
    ];
    const config = readConfig(undefined, Object.fromEntries(names.map((name) => [name, given])));
    expect(parse(printed(config))).toMatchObject({
      publicUrl: ascii,
      auth: { keystone: { url: ascii, publicUrl: ascii } },
    });
  });

  test.each([
    'http://a"b',
    "http://a'b",
    'http://a{b',
    'http://',
    'http://h?',
    'http://h#',
    'http://:x@h',
    'ftp://h',
    '//h',
    'h',
    'http://\u{7f}',
  ])('the error names the variable if the value is invalid in a header: %j', (value) => {
    const problem =
      'must be an http or https URL with a host name or address, without query, fragment or user';
    expect(problemsOf('TSIGIL_PUBLIC_URL', value)).toEqual([`TSIGIL_PUBLIC_URL ${problem}`]);
  });
});

describe('cors.allowedOrigins', () => {
  test('origins are converted to ASCII', () => {
    const config = readConfig(undefined, {
      TSIGIL_CORS_ALLOWED_ORIGINS: '["https://bücher.example"]',
    });
    expect(parse(printed(config))).toMatchObject({
      cors: { allowedOrigins: ['https://xn--bcher-kva.example'] },
    });
  });

  test.each([
    'https://console.example/',
    'https://console.example/path',
    'null',
    '*',
    'https://a"b',
    'file:///x',
  ])('the error names the setting if no browser sends such an origin: %j', (origin) => {
    const problem = 'item 0 must be an origin such as `https://console.example`, without a path';
    expect(problemsOf('TSIGIL_CORS_ALLOWED_ORIGINS', JSON.stringify([origin]))).toEqual([
      `TSIGIL_CORS_ALLOWED_ORIGINS ${problem}`,
    ]);
  });
});
