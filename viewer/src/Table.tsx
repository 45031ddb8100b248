// A table of rows, and the same as CSV.
export interface Rows {
  columns: { name: string; type: string }[];
  rows: unknown[][];
}

export function Table({ columns, rows }: Rows) {
  return (
    <>
      <div className="rows" tabIndex={0} role="region" aria-label="Rows">
        <table>
          <thead>
            <tr>
              {columns.map((column, at) => (
                <th key={at} title={column.type}>
                  {column.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, number) => (
              <tr key={number}>
                {row.map((value, at) => (
                  <td key={at} className={typeof value === 'number' ? 'number' : undefined}>
                    {value === null ? <i>null</i> : String(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > 0 && (
        <button type="button" onClick={() => save({ columns, rows })}>
          Save these rows as CSV
        </button>
      )}
    </>
  );
}

function save({ columns, rows }: Rows) {
  const cell = (value: unknown) => {
    const text = value === null ? '' : String(value);
    return /[",\n\r]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns.map((column) => column.name), ...rows].map((row) => row.map(cell).join(','));
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'text/csv' }));
  link.download = 'rows.csv';
  link.click();
  URL.revokeObjectURL(link.href);
}
