import type { ComponentChildren } from 'preact';

/** A small table whose cells can have several lines. */
export function Grid(props: {
  label: string;
  heads: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
}) {
  return (
    <div class="table">
      <table class="wrap" aria-label={props.label}>
        <thead>
          <tr>
            {props.heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
