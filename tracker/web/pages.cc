#include "tracker/web/pages.h"

#include "rpc/http/asset_page.h"
#include "tracker/web/assets.h"

namespace hone::tracker::web {

http::HttpPages asset_pages() {
  http::HttpPages out;
  for (const Asset& asset : assets())
    out.emplace(http::asset_path(asset.name), http::asset_page(asset.name, asset.bytes));
  return out;
}

}  // namespace hone::tracker::web
