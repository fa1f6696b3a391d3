import {
  inline,
  meaning,
  memberName,
  memberTable,
  describeSchema,
  prose,
  table,
} from './page-tables.ts';
import { markup, type Markup, type Part } from './markup.ts';
import {
  resolve,
  type ApiDocument,
  type Example,
  type OperationObject,
  type ParameterObject,
  type PathItem,
  type ResponseObject,
} from '../openapi/document.ts';

/** One operation of the document with its path and method. */
export interface PlacedOperation {
  readonly path: string;
  readonly method: string;
  readonly item: PathItem;
  readonly operation: OperationObject;
}

export function operationSection(document: ApiDocument, placed: PlacedOperation): Markup {
  const { path, method, operation } = placed;
  const id = operation.operationId;
  return markup`<section class="operation" id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title">${operation.summary}${anchor(id, operation.summary)}</h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
${prose(operation.description)}${parameterTable('Parameters', ownParameters(document, placed))}${body(document, operation)}${examples(document, placed)}${responses(document, operation)}</section>
`;
}

/** Returns a link to a heading, for people who want to share it. */
export function anchor(id: string, title: string): Markup {
  return markup` <a class="anchor" href="#${id}" aria-label="Link to ${title}">#</a>`;
}

/** Returns a table of parameters, or nothing if there are none. */
export function parameterTable(
  caption: string,
  parameters: readonly ParameterObject[],
): Markup | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map(({ name, in: place, required, schema, description, example }) => [
    memberName(name, required === true ? 'required' : undefined),
    [place, ': ', describeSchema(schema)],
    meaning(description, example),
  ]);
  return table(
    caption,
    [
      ['Name', 'name'],
      ['Location and type', 'kind'],
      ['Meaning', 'meaning'],
    ],
    rows,
  );
}

/**
 * Returns the parameters of this operation and its path only. Another section lists the shared
 * parameters.
 */
function ownParameters(
  document: ApiDocument,
  { item, operation }: PlacedOperation,
): ParameterObject[] {
  const ofPath = (item.parameters ?? []).filter((parameter) => !('$ref' in parameter));
  return [...ofPath, ...(operation.parameters ?? [])].map((parameter) =>
    resolve(document, parameter),
  );
}

function body(document: ApiDocument, { requestBody }: OperationObject): Part {
  const schema = requestBody?.content['application/json']?.schema;
  return schema === undefined
    ? undefined
    : memberTable('Body', resolve(document, schema), 'required');
}

function examples(document: ApiDocument, placed: PlacedOperation): Part {
  const { operation } = placed;
  const requests = Object.entries(
    operation.requestBody?.content['application/json']?.examples ?? {},
  );
  const [status = '', response] = Object.entries(operation.responses)[0] ?? [];
  const content =
    response === undefined
      ? undefined
      : Object.values(resolve(document, response).content ?? {})[0];
  const responseNamed = (name: string) =>
    content?.examples?.[name] ?? Object.values(content?.examples ?? {})[0];
  const pairs: [Example | undefined, Example | undefined][] =
    requests.length === 0
      ? [[undefined, responseNamed('')]]
      : requests.map(([name, request]) => [request, responseNamed(name)]);
  const shown = pairs.map(
    ([
      request,
      response,
    ]) => markup`${request === undefined ? undefined : markup`<p class="caption">${inline(request.summary)}</p>\n`}<pre><code>${curl(document, placed, request?.value)}</code></pre>
${response === undefined ? undefined : markup`<p class="caption">Response: ${status}</p>\n<pre class="reply"><code>${typeof response.value === 'string' ? response.value : JSON.stringify(response.value, undefined, 2)}</code></pre>\n`}`,
  );
  return [markup`<h4>Example</h4>\n`, shown];
}

/** Returns the command line that sends a request, for a shell in which TOKEN is set. */
function curl(
  document: ApiDocument,
  { path, method, item, operation }: PlacedOperation,
  value: unknown,
): string {
  const parameters = (item.parameters ?? []).map((parameter) => resolve(document, parameter));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const example = parameters.find((parameter) => parameter.name === name)?.example;
    return encodeURIComponent(typeof example === 'string' ? example : name);
  });
  const required = (operation.parameters ?? [])
    .map((parameter) => resolve(document, parameter))
    .filter((parameter) => parameter.in === 'query' && parameter.required === true)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
  const query = required.length === 0 ? '' : `?${required.join('&')}`;
  const parts = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} ${quote(`${document.servers[0]?.url ?? ''}${filled}${query}`)}`,
    ...(operation.security.length === 0 ? [] : ['-H "X-Auth-Token: $TOKEN"']),
    ...(value === undefined
      ? []
      : [`-H ${quote('Content-Type: application/json')}`, `-d ${quote(JSON.stringify(value))}`]),
  ];
  return parts.join(' \\\n  ');
}

/** Returns `text` as one word of a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Returns the responses of this operation only. Another section lists the errors that any request
 * may cause.
 */
function responses(document: ApiDocument, { responses }: OperationObject): Part {
  const all = Object.entries(responses);
  const own = all
    .filter(([, response]) => !('$ref' in response))
    .flatMap(([status, response]) => responseRows(status, resolve(document, response)));
  const shared = all.filter(([, response]) => '$ref' in response).map(([status]) => status);
  return [
    responseTable('Responses', own),
    shared.length === 0
      ? undefined
      : markup`<p class="caption">This operation may also return ${shared.join(', ')}. See <a href="#errors">Errors</a>.</p>\n`,
  ];
}

/**
 * Returns a table of responses. Its rows hold the status, the object or error type, and the
 * meaning.
 */
export function responseTable(caption: string, rows: readonly (readonly Part[])[]): Markup {
  const columns = [
    ['Status', 'status'],
    ['Object or error type', 'name'],
    ['Meaning', 'meaning'],
  ] as const;
  return table(caption, columns, rows, 'responses');
}

function responseRows(status: string, response: ResponseObject): Part[][] {
  if (Number(status) >= 400) return errorRows(response);
  const [mediaType, content] = Object.entries(response.content ?? {})[0] ?? [];
  const shown = content?.schema.$ref === undefined ? mediaType : describeSchema(content.schema);
  return [[markup`<code>${status}</code>`, shown, inline(response.description)]];
}

export function errorRows(response: ResponseObject): Part[][] {
  const examples = Object.values(
    response.content?.['application/json']?.examples ?? {},
  ) as Example<ErrorBody>[];
  return examples.map(({ summary, value }) => [
    markup`<code>${value.code}</code>`,
    markup`<code>${value.type}</code>`,
    inline(summary),
  ]);
}

/** The body in an example of an error. */
interface ErrorBody {
  readonly code: number;
  readonly type: string;
}
