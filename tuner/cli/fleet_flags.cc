#include "tuner/cli/fleet_flags.h"

#include "rpc/wire/access/credential_flags.h"

namespace hone {
namespace {

std::string is_label(const std::string& text) {
  const size_t equals = text.find('=');
  return equals == text.npos || equals == 0 ? "'" + text + "' is not k=v" : "";
}

}  // namespace

void add_fleet_flags(CommandLine& line, TuneRequest& f, const std::string& tracker_text) {
  line.add_option("--tracker", f.tracker, tracker_text);
  line.add_option("--device", f.device, "choose a device, an agent or a label (k=v) of the tracker");
  line.add_option("--label", f.labels, "take only devices of the tracker with this label (k=v); several: all must hold")
      .one_value_each()
      .check({is_label, "K=V"});
  wire::add_credential_flags(line, f.credentials);
  line.add_flag("--insecure", f.insecure, "allow a tracker on another host without encryption or authentication");
  for (const char* name : {"--fleet", "--tracker", "--device", "--label", "--tls-ca", "--tls-cert", "--tls-key",
                           "--token-file", "--insecure"})
    line.flag(name).group("A fleet's device");
}

std::vector<std::pair<std::string, std::string>> credential_files(const TuneRequest& f) {
  return {{"--fleet", f.credentials.fleet},
          {"--tls-ca", f.credentials.ca},
          {"--tls-cert", f.credentials.certificate},
          {"--tls-key", f.credentials.key},
          {"--token-file", f.credentials.token}};
}

}  // namespace hone
