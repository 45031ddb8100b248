package io.hyperslab.spark.writing;

import io.hyperslab.FileWrite;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source that writes in parallel; {@link SaveModes} delegates to it. Not for users: it is public because Spark
 * instantiates the class by its name.
 */
public final class WriteSource implements TableProvider {
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Target(schema);
  }

  private static final class Target implements SupportsWrite {
    private final StructType schema;

    Target(StructType schema) {
      this.schema = schema;
    }

    @Override
    public String name() {
      return "hdf5";
    }

    @Override
    public StructType schema() {
      return schema;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      WriteOptions options = new WriteOptions(info.options().asCaseSensitiveMap());
      String request = options.request(info.schema());
      FileWrite.check(request);
      return new WriteBuilder() {
        @Override
        public Write build() {
          return new Write() {
            @Override
            public String description() {
              return "hdf5 " + options.path();
            }

            @Override
            public BatchWrite toBatch() {
              return new FileBatch(options, info.schema(), request);
            }
          };
        }
      };
    }
  }

  /** The driver's side of a write: plans it, and commits the fragments in the tasks' messages. */
  private static final class FileBatch implements BatchWrite {
    private final FileWrite write;
    private final StructType schema;
    private final WriteOptions options;
    private final String request;

    FileBatch(WriteOptions options, StructType schema, String request) {
      this.options = options;
      this.schema = schema;
      this.request = request;
      write = new FileWrite(options.path(), options.mode(), options.replaceable());
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      boolean records = options.records();
      boolean nullsAreNan = options.nullsAreNan();
      // Last of the steps that can fail: Spark does not call abort for errors before tasks run.
      write.begin();
      return new RowWriterFactory(write.plan(), schema, request, records, nullsAreNan);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      byte[][] fragments = Arrays.stream(messages)
          .filter(message -> message != null && ((RowWriter.Message) message).fragment != null)
          .map(message -> ((RowWriter.Message) message).fragment)
          .toArray(byte[][]::new);
      try {
        write.commit(fragments);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted before the write was committed", error);
      }
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      write.abort();
    }
  }
}
