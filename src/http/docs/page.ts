import { createHash } from 'node:crypto';
import { isObject } from '../../domain/model/field.ts';
import { anchor, responseTable, errorRows, operationSection, parameterTable, type PlacedOperation } from './page-operations.ts';
import { STYLE } from './page-style.ts';
import { describeSchema, inline, meaning, memberTable, prose, table } from './page-tables.ts';
import { markup, type Markup, type Part } from './markup.ts';
import { DOCUMENTED_METHODS, resolve, type ApiDocument, type ParameterObject } from '../openapi/document.ts';
import { schemaReference } from '../openapi/schemas.ts';

/** Allows only the style sheet of the page: no scripts, no requests and no frame around it. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** One section of the page: its id, title and content. */
interface Section {
  readonly id: string;
  readonly title: string;
  readonly parts: Part;
  readonly operations?: readonly PlacedOperation[];
}

/** Returns the API description as one HTML page that needs no script and no other resource. */
export function renderDocsPage(document: ApiDocument): string {
  const { info, servers } = document;
  const sections = [
    { id: 'overview', title: 'Overview', parts: prose(info.description) },
    { id: 'signing-in', title: 'Signing in', parts: signingIn(document) },
    ...operationSections(document),
    { id: 'request-context', title: 'Request context', parts: requestContext(document) },
    { id: 'objects', title: 'Objects', parts: objects(document) },
    { id: 'errors', title: 'Errors', parts: errors(document) },
  ];
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} API</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>${info.title} API</h1>
<p>Version ${info.version} at ${servers.map(({ url }) => markup`<code>${url}</code>`)} · the same for programs: <a href="${servers[0]?.url}/openapi.json">openapi.json</a></p>
</header>
<nav aria-label="Contents">
<ul>
${sections.map(contentsEntry)}</ul>
</nav>
<main id="content" tabindex="-1">
${sections.map(sectionMarkup)}</main>
<footer>Made by the service that you are looking at, from its own definitions. ${info.license.name}.</footer>
</body>
</html>
`.html;
}

function contentsEntry({ id, title, operations = [] }: Section): Markup {
  const entries = operations.map(({ operation }) => markup`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`);
  return markup`<li><a href="#${id}">${title}</a>${entries.length === 0 ? undefined : markup`<ul>${entries}</ul>`}</li>\n`;
}

function sectionMarkup({ id, title, parts }: Section): Markup {
  return markup`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}${anchor(id, title)}</h2>
${parts}</section>
`;
}

/** Returns a section for each tag of an operation, in the order of the document's tags. */
function operationSections(document: ApiDocument): Section[] {
  const placed = Object.entries(document.paths).flatMap(([path, item]) =>
    DOCUMENTED_METHODS.flatMap((method) => (item[method] === undefined ? [] : [{ path, method, item, operation: item[method] }])),
  );
  const described = new Map(document.tags.map(({ name, description }) => [name, description]));
  const names = new Set([...described.keys(), ...placed.flatMap(({ operation }) => operation.tags)]);
  return [...names].map((name) => {
    const operations = placed.filter(({ operation }) => operation.tags[0] === name);
    const parts = [prose(described.get(name) ?? ''), operations.map((operation) => operationSection(document, operation))];
    return { id: name, title: name, parts, operations };
  });
}

function signingIn(document: ApiDocument): Part {
  const schemes = Object.values(document.components.securitySchemes).map(({ type, name, description }) => [
    markup`<code>${type === 'http' ? 'Authorization: Bearer TOKEN' : `${String(name)}: TOKEN`}</code>`,
    inline(description),
  ]);
  const columns = [
    ['Header', 'name'],
    ['Meaning', 'meaning'],
  ] as const;
  return [
    prose('Every path under `/v2` needs a token in one of two headers. The examples read it from the shell variable `TOKEN`.'),
    table('Headers that carry a token', columns, schemes),
  ];
}

/** Returns the section of the parameters that paths share. */
function requestContext(document: ApiDocument): Part {
  const common = Object.values(document.paths).flatMap(({ parameters = [] }) =>
    parameters.filter((parameter) => '$ref' in parameter).map((parameter) => resolve<ParameterObject>(document, parameter)),
  );
  return [
    prose('Every request with a token may have these headers and parameters. A request without the right to one of them returns 401 or 403.'),
    parameterTable('Headers and parameters of every request with a token', [...new Set(common)]),
  ];
}

/**
 * Returns the section of the objects in responses. The sections of operations have the request
 * bodies.
 */
function objects(document: ApiDocument): Part {
  const ofRequests = new Set(
    Object.values(document.paths).flatMap((item) =>
      DOCUMENTED_METHODS.map((method) => item[method]?.requestBody?.content['application/json']?.schema.$ref),
    ),
  );
  return Object.entries(document.components.schemas)
    .filter(([name]) => !ofRequests.has(`#/components/schemas/${name}`))
    .map(([name, schema]) => {
      const id = `schema-${name}`;
      const description = typeof schema.description === 'string' ? schema.description : '';
      return markup`<section class="schema" id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title">${name}${anchor(id, name)}</h3>
${prose(description)}${memberTable(`Members of ${name}`, schema, 'optional')}</section>
`;
    });
}

/**
 * Returns the section of errors: every error once, the headers of responses, and the two forms of
 * error bodies.
 */
function errors(document: ApiDocument): Part {
  const ofOperations = Object.values(document.paths).flatMap((item) =>
    DOCUMENTED_METHODS.flatMap((method) => Object.values(item[method]?.responses ?? {})),
  );
  const responses = [...Object.values(document.components.responses), ...ofOperations.map((response) => resolve(document, response))];
  const rows = new Map(responses.flatMap((response) => errorRows(response)).map((row) => [JSON.stringify(row.slice(0, 2)), row]));
  const sorted = [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  const headers = Object.entries(document.components.headers).map(([name, { description, schema, example }]) => [
    markup`<code>${name}</code>`,
    describeSchema(schema),
    meaning(description, example),
  ]);
  const values = responses.flatMap(({ content = {} }) =>
    Object.values(content['application/json']?.examples ?? {}).map(({ value }) => value).filter(isObject),
  );
  const shown = [values.find((value) => 'errors' in value), values.find((value) => 'error' in value)];
  return [
    markup`<p>The body of an error is an ${describeSchema(schemaReference('Error'))}. If the token is missing or unknown, it is an ${describeSchema(schemaReference('AuthenticationError'))}.</p>\n`,
    shown.map((value) => markup`<pre class="reply"><code>${JSON.stringify(value, undefined, 2)}</code></pre>\n`),
    responseTable('All errors', sorted),
    table(
      'Response headers',
      [
        ['Header', 'name'],
        ['Type', 'kind'],
        ['Meaning', 'meaning'],
      ],
      headers,
    ),
  ];
}
